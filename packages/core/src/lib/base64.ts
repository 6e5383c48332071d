/** Bytes per call of `String.fromCharCode`, whose number of arguments is limited. */
const CHUNK = 8192;

/** Encodes bytes as base64, in every runtime. */
export function base64(bytes: Uint8Array): string {
  // `btoa` is so slow that a file of 10 MB would hold up the process for a second.
  const native = globalThis.Buffer?.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (native !== undefined) return native.toString('base64');
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(text);
}

/** Returns the bytes of a buffer or of a view; `undefined` for any other value. */
export function bytesIn(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!ArrayBuffer.isView(value)) return undefined;
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

/** Encodes bytes as base64url, without padding. */
export function base64url(bytes: Uint8Array): string {
  return base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/**
 * Decodes base64 or base64url.
 *
 * @throws {DOMException} for invalid text.
 */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
