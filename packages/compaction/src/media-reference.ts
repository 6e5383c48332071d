import { createHash } from 'node:crypto';
import { type FileBlock, type FileSource, headOf } from '@x/core';

const LONGEST_NAME = 120;

const digests = new WeakMap<FileBlock, string>();

/** The same for files with the same content, as far as can be told without reading them. Computed once per block. */
export function contentKey(file: FileBlock): string {
  let key = digests.get(file);
  if (key === undefined) {
    const { source } = file;
    const content = source.type === 'base64' ? source.data : JSON.stringify(source);
    key = createHash('sha256').update(source.type).update(content).digest('base64url');
    digests.set(file, key);
  }
  return key;
}

/**
 * What stands for a file that was taken out: media type, size where it is known, name, and where it is now.
 * `[image/png, 24.1 KB, login.png; in full: log message 3f2a]`.
 */
export function mediaReference(file: FileBlock, where: string): string {
  return `[${[file.mediaType, sizeOf(file), nameOf(file)].filter(Boolean).join(', ')}; in full: ${where}]`;
}

function sizeOf({ source }: FileBlock): string | undefined {
  if (source.type !== 'base64') return undefined;
  const padding = source.data.endsWith('==') ? 2 : Number(source.data.endsWith('='));
  const bytes = Math.max(0, Math.floor((source.data.length * 3) / 4) - padding);
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function nameOf({ filename, source }: FileBlock): string | undefined {
  const place = placeOf(source);
  const name = [filename, place].filter(Boolean).join(' at ');
  return name === '' ? undefined : headOf(name.replaceAll(/\s+/g, ' '), LONGEST_NAME);
}

function placeOf(source: FileSource): string | undefined {
  switch (source.type) {
    case 'url':
      return source.url.startsWith('data:') ? undefined : source.url;
    case 'workspace':
      return source.path;
    case 'provider':
      return `${source.provider} file ${source.id}`;
    case 'base64':
      return undefined;
  }
}
