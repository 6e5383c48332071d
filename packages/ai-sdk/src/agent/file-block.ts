import type { FileBlock, FileSource } from '@x/core';
import { metadataIn, type OpenPart } from './sdk-message.js';

/** A file or image as the SDK holds it; `undefined` when its data is in a form that is not known here. */
export function fileBlock(part: OpenPart): FileBlock | undefined {
  const source = sourceOf(part.type === 'image' ? part.image : (part.data ?? part.url));
  if (source === undefined) return undefined;
  const { mediaType, filename } = part;
  const fallback = part.type.startsWith('image') ? 'image/*' : 'application/octet-stream';
  return {
    type: 'file',
    mediaType: typeof mediaType === 'string' ? mediaType : fallback,
    source,
    ...(typeof filename === 'string' ? { filename } : {}),
    ...metadataIn(part),
  };
}

function sourceOf(data: unknown): FileSource | undefined {
  if (data instanceof URL) return { type: 'url', url: data.href };
  if (data instanceof Uint8Array) return { type: 'base64', data: Buffer.from(data).toString('base64') };
  if (data instanceof ArrayBuffer) return { type: 'base64', data: Buffer.from(data).toString('base64') };
  if (typeof data === 'string') {
    return /^(?:https?|data):/.test(data) ? { type: 'url', url: data } : { type: 'base64', data };
  }
  if (typeof data !== 'object' || data === null) return undefined;
  const tagged = data as { readonly type?: unknown; readonly data?: unknown; readonly url?: unknown };
  if (tagged.type === 'data') return sourceOf(tagged.data);
  return tagged.type === 'url' ? sourceOf(tagged.url) : undefined;
}
