import { digest } from './digest.js';

/** Maximum number of bytes of an encoded segment: below the limit of 255 in common file systems, with room for a suffix. */
const MAX_SEGMENT = 200;
/** Length of the hash suffix: two characters of mark and 64 of hash. */
const HASH_LENGTH = 66;
/** Names that Windows reserves with any extension. */
const RESERVED = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:$|\.)/;

/**
 * Encodes any string injectively into `[a-z0-9_.%-]`, so that two ids never collide. Escapes upper case (some file systems ignore
 * case), characters beyond ASCII by UTF-16 unit (file systems may normalize, and surrogates may be unpaired), and leading and
 * trailing dots (`.` and `..`). Decode with {@link decodeSegment}.
 */
export function encodeSegment(text: string): string {
  let encoded = '';
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    const plain =
      (unit >= 97 && unit <= 122) || // a–z
      (unit >= 48 && unit <= 57) || // 0–9
      unit === 45 || // -
      unit === 95 || // _
      (unit === 46 && index > 0 && index < text.length - 1); // . inside
    if (plain) encoded += text[index];
    else if (unit < 128) encoded += `%${unit.toString(16).padStart(2, '0')}`;
    else encoded += `%u${unit.toString(16).padStart(4, '0')}`;
  }
  // Escaping the first letter is enough to make a reserved device name harmless.
  if (RESERVED.test(encoded)) encoded = `%${encoded.charCodeAt(0).toString(16)}${encoded.slice(1)}`;
  return encoded;
}

/** Decodes a text of {@link encodeSegment}. */
export function decodeSegment(encoded: string): string {
  return encoded.replace(
    /%u([0-9a-f]{4})|%([0-9a-f]{2})/g,
    (_, unit: string | undefined, byte: string | undefined) =>
      String.fromCharCode(Number.parseInt(unit ?? byte ?? '', 16)),
  );
}

/**
 * Encodes a string as a file name, like {@link encodeSegment}. A name that would be too long is cut and ends with a SHA-256 of the
 * whole. An empty text gets a name, too. A cut name cannot be decoded, so store the original if you need it.
 */
export function fileSegment(text: string): string {
  const encoded = encodeSegment(text);
  if (encoded.length <= MAX_SEGMENT) return encoded || '%_';
  // `%_` appears in no plain encoding, so a cut name never equals a whole one. The hash is hexadecimal, so case does not matter.
  return `${encoded.slice(0, MAX_SEGMENT - HASH_LENGTH)}%_${digest(encoded)}`;
}
