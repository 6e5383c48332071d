import { type FileBlock, type FileSource, isObject } from '@x/core';

/** A part of a message's content. */
export type ContentPart = { readonly type: string; readonly [key: string]: unknown };

const FALLBACK_TYPES: Readonly<Record<string, string>> = {
  image: 'image/*',
  image_url: 'image/*',
  audio: 'audio/*',
  input_audio: 'audio/*',
  video: 'video/*',
  file: 'application/octet-stream',
};

/** An image or another file in one of LangChain's forms, or in OpenAI's; `undefined` for everything else. */
export function fileBlock(part: ContentPart): FileBlock | undefined {
  const fallback = FALLBACK_TYPES[part.type];
  const source = fallback === undefined ? undefined : sourceIn(part);
  if (fallback === undefined || source === undefined) return undefined;
  const named = part.mimeType ?? part.mime_type;
  const inline = source.type === 'url' ? /^data:([^;,]+)/.exec(source.url)?.[1] : undefined;
  const format = fieldOf(part.input_audio, 'format');
  const mediaType =
    typeof named === 'string' ? named : typeof format === 'string' ? `audio/${format}` : (inline ?? fallback);
  return { type: 'file', mediaType, source };
}

function sourceIn(part: ContentPart): FileSource | undefined {
  const { image_url: image, data = fieldOf(part.input_audio, 'data') } = part;
  const url = fieldOf(image, 'url') ?? image ?? fieldOf(part.file, 'file_data') ?? part.url;
  if (typeof url === 'string') return { type: 'url', url };
  if (typeof data === 'string') return { type: 'base64', data };
  return data instanceof Uint8Array
    ? { type: 'base64', data: Buffer.from(data).toString('base64') }
    : undefined;
}

function fieldOf(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}
