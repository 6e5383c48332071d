import { base64, bytesIn } from '../lib/base64.js';
import { isObject, type JsonValue } from '../lib/json.js';
import type { ContentBlock, FileSource, OpaqueBlock, ToolOutputBlock } from './content-block.js';

/** A part of a message in the format of a provider or framework, before parsing. */
export type Part = { readonly type: string; readonly [key: string]: unknown };

/** Reads a part of one type. Returns `undefined` if required fields are missing. */
type Read = (part: Part) => ContentBlock | undefined;

const said: Read = ({ text, refusal = text }) =>
  typeof refusal === 'string' ? { type: 'text', text: refusal } : undefined;

const thought: Read = ({ text, reasoning = text, thinking = reasoning, signature }) => {
  if (typeof thinking !== 'string') return undefined;
  const signed = typeof signature === 'string' && signature !== '' ? { signature } : {};
  return { type: 'thinking', thinking, ...signed };
};

const called: Read = ({
  toolCallId,
  id = toolCallId,
  toolName,
  name = toolName,
  arguments: given,
  input = given,
}) =>
  typeof id === 'string' && typeof name === 'string'
    ? { type: 'tool_use', id, name, input: parseInput(input) }
    : undefined;

/** Fields in which formats store a file: its bytes, its URL, or an object with either. */
const PLACES = [
  'source',
  'image_url',
  'input_audio',
  'file',
  'file_data',
  'image',
  'data',
  'originalUrl',
  'url',
] as const;
const MEDIA = ['mediaType', 'media_type', 'mimeType', 'mime_type'] as const;

const fileOf =
  (unnamed: string): Read =>
  (part) => {
    const found = PLACES.map((place) => sourceIn(part[place])).find((source) => source !== undefined);
    if (found === undefined) return undefined;
    const holders = [part, ...PLACES.map((place) => part[place])].filter(isObject);
    const named = (keys: readonly string[]) =>
      holders.flatMap((holder) => keys.map((key) => holder[key])).find((value) => typeof value === 'string');
    const format = part.type === 'input_audio' ? named(['format']) : undefined;
    const filename = named(['filename']);
    return {
      type: 'file',
      mediaType: String(
        found.mediaType ?? named(MEDIA) ?? (format === undefined ? unnamed : `audio/${format}`),
      ),
      source: found.source,
      ...(typeof filename === 'string' ? { filename } : {}),
    };
  };

interface Found {
  readonly source: FileSource;
  /** The media type in a URL that contains the bytes. */
  readonly mediaType?: string | undefined;
}

function sourceIn(value: unknown): Found | undefined {
  if (value instanceof URL) return sourceIn(value.href);
  const bytes = bytesIn(value);
  if (bytes !== undefined) return { source: { type: 'base64', data: base64(bytes) } };
  if (typeof value === 'string' && value !== '') {
    const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(value) ?? [];
    if (data !== undefined) return { source: { type: 'base64', data }, mediaType };
    const isAddress = /^(?:https?|data|file):/.test(value);
    return { source: isAddress ? { type: 'url', url: value } : { type: 'base64', data: value } };
  }
  if (!isObject(value)) return undefined;
  return PLACES.map((place) => sourceIn(value[place])).find((source) => source !== undefined);
}

const image = fileOf('image/*');
const audio = fileOf('audio/*');
const file = fileOf('application/octet-stream');

/** Readers of parts by type, for all formats. */
const READ: Readonly<Record<string, Read>> = {
  ...{ text: said, hint: said, input_text: said, output_text: said, refusal: said },
  ...{ thinking: thought, reasoning: thought },
  ...{ tool_use: called, toolCall: called, 'tool-call': called },
  ...{ image, image_url: image, input_image: image, 'image-data': image, 'image-url': image },
  computer_screenshot: image,
  ...{ audio, input_audio: audio, video: fileOf('video/*'), document: fileOf('application/pdf') },
  ...{ file, input_file: file, media: file, 'file-data': file, 'file-url': file },
};

/** Reads a text, thought, call or file in the format of any provider or framework. Returns `undefined` for other parts. */
export function readPart(part: unknown): ContentBlock | undefined {
  if (!isObject(part) || typeof part.type !== 'string') return undefined;
  return Object.hasOwn(READ, part.type) ? READ[part.type]?.(part as Part) : undefined;
}

/** Reads a part of a tool's output. A part that is neither a text nor a file becomes JSON. */
export function readOutput(part: unknown): ToolOutputBlock {
  return outputOf(readPart(part), part);
}

/** Returns the block that was read from a part of an output, or the part as JSON if an output cannot contain that block. */
export function outputOf(block: ContentBlock | undefined, part: unknown): ToolOutputBlock {
  if (block?.type === 'text' || block?.type === 'file') return block;
  return { type: 'text', text: typeof part === 'string' ? part : JSON.stringify(plainJson(part)) };
}

const origins = new WeakMap<object, { readonly origin: object; readonly key: string | undefined }>();

/**
 * Remembers the object from which a message or block was made. {@link originOf} returns that object. A changed block is a new object, so
 * it has no original.
 *
 * @param key The dialect of the origin. Default: none.
 */
export function madeFrom<Made extends object>(made: Made, origin: object, key?: string): Made {
  origins.set(made, { origin, key });
  return made;
}

/** Returns the original of a message or block, in the given dialect or in any; `undefined` if it was changed since. */
export function originOf(made: object, key?: string): object | undefined {
  const known = origins.get(made);
  return key === undefined || known?.key === key ? known?.origin : undefined;
}

/**
 * Returns the parts of blocks. For an unchanged block, returns the original part; for any other block, the result of `write`.
 *
 * @param before The blocks before the change. `write` gets the block before its change: a half of a call by its id, any other by its
 * position among the changed blocks of its type; `undefined` if unknown.
 * @param key The dialect of the parts. Blocks from another dialect are written. Default: any.
 */
export function partsFrom(
  blocks: readonly ContentBlock[],
  before: readonly ContentBlock[] = [],
  write: (block: ContentBlock, was: ContentBlock | undefined) => Part | undefined = writeText,
  key?: string,
): Part[] {
  return blocks.flatMap((block) => {
    const own = originOf(block, key) as Part | undefined;
    const altered = blocks.filter((other) => !before.includes(other) && isAlike(other, block));
    const former = before.filter((other) => !blocks.includes(other) && isAlike(other, block));
    const was = former.length === altered.length ? former[altered.indexOf(block)] : undefined;
    return own ?? write(block, was) ?? [];
  });
}

/** Writes a text into the original part, whose other fields are kept. A changed file becomes a line with its type. */
function writeText(block: ContentBlock, was: ContentBlock | undefined): Part | undefined {
  if (block.type !== 'text' && block.type !== 'file') return undefined;
  const text = block.type === 'text' ? block.text : `[${block.mediaType}]`;
  return { ...(was?.type === 'text' ? originOf(was) : {}), type: 'text', text };
}

function isAlike(one: ContentBlock, other: ContentBlock): boolean {
  if (one.type === 'tool_use') return other.type === 'tool_use' && one.id === other.id;
  if (one.type === 'tool_result') return other.type === 'tool_result' && one.toolUseId === other.toolUseId;
  return one.type === other.type;
}

/** Keeps a part unparsed. A half of a call that the provider ran names its call, in the formats of Anthropic, LangChain and the AI SDK. */
export function opaquePart(part: { readonly type: string } | Part, provider: string): OpaqueBlock {
  const { type, id, tool_use_id, toolCallId } = part as Part;
  const isResult = /[_-]result$/.test(type);
  const isHalf = isResult || /^(?:\w+_tool_use|server_tool_call|tool-call)$/.test(type);
  const callId = toolCallId ?? (isResult ? tool_use_id : id);
  const pairing =
    isHalf && typeof callId === 'string' ? ({ callId, half: isResult ? 'result' : 'call' } as const) : {};
  return { type: 'opaque', provider, data: plainJson(part), ...pairing };
}

/** Parses the input of a call, which is JSON text in some formats and a value in others. Text that is not valid JSON stays a text. */
export function parseInput(input: unknown): JsonValue {
  if (typeof input !== 'string') return plainJson(input ?? {});
  if (input.trim() === '') return {};
  try {
    return JSON.parse(input) as JsonValue;
  } catch {
    return input;
  }
}

/**
 * Converts a value to JSON: bytes become base64, URLs and dates become text, maps and sets become lists; `undefined` is omitted. Different
 * values may have the same result, so compare values with `exactText`.
 */
export function plainJson(value: unknown): JsonValue {
  const bytes = bytesIn(value);
  if (bytes !== undefined) return base64(bytes);
  if (value instanceof URL || value instanceof Date) return value.toJSON();
  if (value instanceof Map || value instanceof Set) return Array.from(value, plainJson);
  if (Array.isArray(value)) return value.map(plainJson);
  if (isObject(value)) {
    const entries = Object.entries(value).filter(([, child]) => child !== undefined);
    return Object.fromEntries(entries.map(([key, child]) => [key, plainJson(child)]));
  }
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' || typeof value === 'boolean' ? value : null;
}
