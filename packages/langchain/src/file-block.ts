import type { FileBlock, FileSource } from '@x/core';

/** A part of a message's content. */
export type ContentPart = { readonly type: string; readonly [key: string]: unknown };

const FALLBACK_TYPES: Readonly<Record<string, string>> = {
  image: 'image/*',
  image_url: 'image/*',
  audio: 'audio/*',
  video: 'video/*',
  file: 'application/octet-stream',
};

/** An image or another file in one of LangChain's forms; `undefined` for everything else. */
export function fileBlock(part: ContentPart): FileBlock | undefined {
  const fallback = FALLBACK_TYPES[part.type];
  const source = sourceIn(part);
  if (fallback === undefined || source === undefined) return undefined;
  const mediaType = part.mimeType ?? part.mime_type;
  return { type: 'file', mediaType: typeof mediaType === 'string' ? mediaType : fallback, source };
}

function sourceIn(part: ContentPart): FileSource | undefined {
  const { image_url: image, data } = part;
  const nested = typeof image === 'object' && image !== null ? (image as { url?: unknown }).url : image;
  const url = nested ?? part.url;
  if (typeof url === 'string') return { type: 'url', url };
  if (typeof data === 'string') return { type: 'base64', data };
  return data instanceof Uint8Array
    ? { type: 'base64', data: Buffer.from(data).toString('base64') }
    : undefined;
}
