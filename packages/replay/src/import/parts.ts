import { type ContentBlock, type FileBlock, isObject, type JsonValue, type ToolOutputBlock } from '@x/core';

/** A text as blocks; none for an empty one. */
export function text(value: unknown): readonly Extract<ContentBlock, { type: 'text' }>[] {
  return typeof value === 'string' && value !== '' ? [{ type: 'text', text: value }] : [];
}

/** The arguments of a call: formats write them as JSON text, or as they are. */
export function parseArguments(value: unknown): JsonValue {
  if (typeof value !== 'string') return asJson(value ?? {});
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return value;
  }
}

/** Any value as JSON, without what JSON cannot say. */
export function asJson(value: unknown): JsonValue {
  return (JSON.parse(JSON.stringify(value) ?? 'null') ?? null) as JsonValue;
}

/** A tool's answer as a text: itself, or as JSON. */
function outputText(value: unknown): readonly ToolOutputBlock[] {
  return [{ type: 'text', text: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') }];
}

type Part = Readonly<Record<string, unknown>>;

/** Reads a part of one type; `undefined` for one that has not what its type asks for. */
type Read = (part: Part) => readonly ContentBlock[] | undefined;

const said: Read = (part) => {
  const value = part.text ?? part.refusal;
  return typeof value === 'string' ? text(value) : undefined;
};

const thought: Read = (part) => {
  const { thinking = part.text, signature } = part;
  if (typeof thinking !== 'string') return undefined;
  return [
    { type: 'thinking', thinking, ...(typeof signature === 'string' && signature ? { signature } : {}) },
  ];
};

const called: Read = (part) => {
  const { id = part.toolCallId, name = part.toolName, input = part.arguments } = part;
  if (typeof id !== 'string' || typeof name !== 'string') return undefined;
  return [{ type: 'tool_use', id, name, input: parseArguments(input) }];
};

/** Bytes or an address, which formats put beside the type or into an object. */
function fileOf(unnamed: string): Read {
  return (part) => {
    const inner = [part.source, part.image_url].find(isObject) ?? part;
    const media = [inner.media_type, inner.mediaType, inner.mimeType].find(
      (each) => typeof each === 'string',
    );
    const data = [inner.data, inner.url, inner.image, inner.image_url].find(
      (each) => typeof each === 'string',
    );
    return data === undefined ? undefined : [fileFrom(String(data), String(media ?? unnamed))];
  };
}

function fileFrom(data: string, mediaType: string): FileBlock {
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(data);
  if (inline?.[1] !== undefined && inline[2] !== undefined) return fileFrom(inline[2], inline[1]);
  const source = /^(?:https?|data|file):/.test(data)
    ? { type: 'url' as const, url: data }
    : { type: 'base64' as const, data };
  return { type: 'file', mediaType, source };
}

/** Parts by their types, in all formats: one thing has few names. */
const READ: Readonly<Record<string, Read>> = {
  text: said,
  hint: said,
  input_text: said,
  output_text: said,
  refusal: said,
  thinking: thought,
  reasoning: thought,
  redacted_thinking: (part) => [{ type: 'opaque', provider: 'anthropic', data: asJson(part) }],
  tool_use: called,
  toolCall: called,
  'tool-call': called,
  image: fileOf('image/*'),
  image_url: fileOf('image/*'),
  input_image: fileOf('image/*'),
  document: fileOf('application/pdf'),
  file: fileOf('application/octet-stream'),
};

/** The blocks of a part; `undefined` where no format writes such a part. */
export function readPart(value: unknown): readonly ContentBlock[] | undefined {
  if (!isObject(value) || typeof value.type !== 'string') return undefined;
  return Object.hasOwn(READ, value.type) ? READ[value.type]?.(value) : undefined;
}

/** What was said: a text or parts. A part that nobody knows is kept as its JSON. */
export function readParts(value: unknown): readonly ContentBlock[] {
  if (!Array.isArray(value)) return text(value);
  return value.flatMap((part: unknown) => readPart(part) ?? outputText(part));
}

/** What a tool answered: texts and files, anything else as its JSON. */
export function readOutput(value: unknown): readonly ToolOutputBlock[] {
  if (!Array.isArray(value)) return outputText(value);
  return value.flatMap((part: unknown) => {
    const blocks = readPart(part);
    return blocks?.every(isOutput) ? blocks.filter(isOutput) : outputText(part);
  });
}

function isOutput(block: ContentBlock): block is ToolOutputBlock {
  return block.type === 'text' || block.type === 'file';
}

/** The texts of blocks, as instructions are kept. */
export function textsOf(blocks: readonly ContentBlock[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}
