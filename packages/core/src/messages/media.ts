import { fromBase64 } from '../lib/base64.js';
import { headOf } from '../lib/text.js';
import type { FileBlock } from './content-block.js';

/** Aliases of media types, with the name that providers know. */
const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'image/svg': 'image/svg+xml',
  'audio/mp3': 'audio/mpeg',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'application/x-pdf': 'application/pdf',
};

/** How files of a type begin, in Latin-1. A question mark matches any byte. */
const BEGINNINGS: readonly (readonly [mediaType: string, beginning: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF8'],
  ['image/webp', 'RIFF????WEBP'],
  ['image/heic', '????ftyphei'],
  ['image/avif', '????ftypavif'],
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  ['application/pdf', '%PDF-'],
  ['application/zip', 'PK\x03\x04'],
  ['audio/wav', 'RIFF????WAVE'],
  ['audio/ogg', 'OggS'],
  ['audio/mpeg', 'ID3'],
];
const LONGEST_BEGINNING = 12;

/** Returns a media type in the form that providers know, or the type of unknown bytes if it is not a valid media type. */
export function normalMediaType(given: string): string {
  const [type = ''] = given.toLowerCase().split(';', 1);
  const name = type.trim();
  return /^[a-z]+\/[\w.+*-]+$/.test(name) ? (ALIASES[name] ?? name) : 'application/octet-stream';
}

/** Returns the media type that the bytes show; `undefined` if they show none. */
export function mediaTypeOf(data: string): string | undefined {
  const begin = latin1(fromBase64(data.slice(0, Math.ceil(LONGEST_BEGINNING / 3) * 4)));
  const isBegun = (beginning: string) =>
    [...beginning].every((sign, index) => sign === '?' || sign === begin[index]);
  return BEGINNINGS.find(([, beginning]) => isBegun(beginning))?.[0];
}

/** Text types other than `text/*`. */
const TEXTUAL =
  /^text\/|^application\/(?:json|xml|yaml|x-yaml|toml|sql|javascript|typescript|graphql|x-ndjson|x-sh|[\w.-]+\+(?:json|xml|yaml))$/;

/** Tests whether files of a media type are text. Images in a text format, such as SVG, are images. */
export function isTextual(mediaType: string): boolean {
  return TEXTUAL.test(mediaType);
}

/** Decodes a text file: UTF-8, UTF-16 with a byte order mark, or else Windows-1252. */
export function textIn(data: string): string {
  const bytes = fromBase64(data);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** Returns the encoded bytes that a file adds to a request; `undefined` if the bytes are elsewhere. */
export function encodedBytes({ source }: FileBlock): string | undefined {
  if (source.type === 'base64') return source.data;
  return source.type === 'url' && /^data:/i.test(source.url) ? source.url : undefined;
}

const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*?(;base64)?,/i;

/**
 * Returns the inline bytes of a file as base64, with the media type from its data URL. Returns `undefined` if the bytes are elsewhere, and
 * `''` if they are invalid.
 */
export function inlineData({
  source,
}: FileBlock): { readonly data: string; readonly mediaType?: string } | undefined {
  if (source.type === 'base64' && !source.data.startsWith('data:')) return { data: plainBase64(source.data) };
  const address = source.type === 'base64' ? source.data : source.type === 'url' ? source.url : '';
  const [head, mediaType, isBase64] = DATA_URL.exec(address.slice(0, 1_000)) ?? [];
  if (head === undefined) return undefined;
  const body = address.slice(head.length);
  const data = isBase64 ? plainBase64(body) : percentEncoded(body);
  return { data, ...(mediaType ? { mediaType } : {}) };
}

/** Returns padded base64 in the standard alphabet, without line breaks. Returns `''` if the text is not valid base64. */
function plainBase64(text: string): string {
  if (/^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0) return text;
  const plain = text
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/\s+/g, '')
    .replace(/={1,2}$/, '');
  const isSound = /^[A-Za-z0-9+/]+$/.test(plain) && plain.length % 4 !== 1;
  return isSound ? plain.padEnd(Math.ceil(plain.length / 4) * 4, '=') : '';
}

function percentEncoded(text: string): string {
  try {
    return btoa(latin1(new TextEncoder().encode(decodeURIComponent(text))));
  } catch {
    return '';
  }
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

/** Returns the number of bytes that base64 encodes. */
export function byteLength(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  return Math.floor((data.length * 3) / 4) - padding;
}

/** Describes a file to a model: `shot.svg (image/svg+xml, 12 kB)`. */
export function describeFile(file: FileBlock): string {
  const bytes = file.source.type === 'base64' ? byteLength(file.source.data) : undefined;
  const size =
    bytes === undefined ? '' : `, ${bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} kB`}`;
  const name = file.filename === undefined ? 'A file' : headOf(file.filename, 200);
  return `${name} (${headOf(file.mediaType, 100)}${size})`;
}
