import * as z from 'zod/mini';
import { InvalidInputError } from '../../errors/invalid-input-error.js';
import { isObject } from '../../lib/json.js';
import type { ContentBlock, FileBlock, ToolResultBlock, ToolUseBlock } from '../content-block.js';
import type { Message, Role } from '../message.js';
import { madeFrom, opaquePart, originOf, outputOf, type Part, partsFrom } from '../parts.js';

/** A message of a provider's API, without the types of the provider's library. */
export interface ProviderMessage {
  readonly role: string;
  readonly [key: string]: unknown;
}

/** Reads the message format of a provider or framework. */
export interface Dialect {
  /** The provider name of opaque blocks, which contain parts that only the provider can read. */
  readonly key: string;
  /** Lists all parts of a message: texts, thoughts, files, calls and results. */
  parts(source: object): readonly Part[];
  /** Reads a part of a message in a role. Returns `undefined` for a part that only the provider can read. */
  read(part: Part, role?: string): ContentBlock | undefined;
}

/** Reads and writes the message format of a provider. Texts, thoughts and results are parts in Anthropic's format. */
export interface WritableDialect extends Dialect {
  /** The provider's name in error messages. */
  readonly name: string;
  readonly schema: z.ZodMiniType<ProviderMessage>;
  /** Writes a file or a call. Returns `undefined` if the provider's format has no such part. */
  write(block: FileBlock | ToolUseBlock, was: Part | undefined): Part | undefined;
  /** Writes the messages that contain the parts. Returns `undefined` if the provider has no such role. */
  join(role: Role, parts: readonly Part[]): readonly ProviderMessage[] | undefined;
}

/** Reads all blocks of a message. Each block remembers the provider's part that it was made from. */
export function readBlocks(dialect: Dialect, source: object): readonly ContentBlock[] {
  const { role } = source as { readonly role?: string };
  return dialect
    .parts(source)
    .map((part) => madeFrom(dialect.read(part, role) ?? opaquePart(part, dialect.key), part, dialect.key));
}

/** Reads the result of a call in Anthropic's format. Only the call contains the name of the tool. */
export function readResult(dialect: Dialect, part: Part): ToolResultBlock {
  const output = partsOf(part.content).map((own) =>
    madeFrom(outputOf(dialect.read(own), own), own, dialect.key),
  );
  const isError = part.is_error === true;
  return { type: 'tool_result', toolUseId: String(part.tool_use_id), toolName: '', output, isError };
}

/**
 * Writes a message. Unchanged blocks become the original parts. Changed blocks keep all other fields of their parts.
 *
 * @param before The blocks of the message before the change.
 * @returns Several messages if the provider has one message per result.
 * @throws {InvalidInputError} for a block or a role that the provider's format lacks.
 */
export function writeMessage(
  dialect: WritableDialect,
  { role, content }: Pick<Message, 'role' | 'content'>,
  before?: readonly ContentBlock[],
): readonly ProviderMessage[] {
  return dialect.join(role, writeParts(dialect, content, before)) ?? refuse(dialect, `${role} message`);
}

function writeParts(
  dialect: WritableDialect,
  blocks: readonly ContentBlock[],
  before: readonly ContentBlock[] | undefined,
): readonly Part[] {
  return partsFrom(blocks, before, (block, was) => writePart(dialect, block, was), dialect.key);
}

function writePart(dialect: WritableDialect, block: ContentBlock, was: ContentBlock | undefined): Part {
  const part = was && (originOf(was, dialect.key) as Part | undefined);
  const rest = part?.type === block.type ? part : {};
  switch (block.type) {
    case 'text':
      return { ...rest, type: 'text', text: block.text };
    case 'thinking': {
      const signed = block.signature === undefined ? {} : { signature: block.signature };
      return { ...rest, type: 'thinking', thinking: block.thinking, ...signed };
    }
    case 'tool_result': {
      const before = was?.type === 'tool_result' ? was.output : [];
      const content = contentOf(writeParts(dialect, block.output, before));
      const { is_error: _, ...kept } = rest as Part;
      const error = block.isError ? { is_error: true } : {};
      return { ...kept, type: 'tool_result', tool_use_id: block.toolUseId, content, ...error };
    }
    case 'opaque':
      return block.provider === dialect.key
        ? (block.data as Part)
        : refuse(dialect, `block of ${block.provider}`);
    default:
      return dialect.write(block, part) ?? refuse(dialect, `${block.type} block`);
  }
}

function refuse({ name }: WritableDialect, what: string): never {
  const message = `a ${what} cannot be sent to ${name}; remove it, or use stages that write text`;
  throw new InvalidInputError('conversation', [{ path: 'content', message }]);
}

/**
 * The schema of a message's content: a text, or a list of parts.
 *
 * @param strings The fields that must be strings, by the type of the part.
 */
export function contentSchema(strings: { readonly [type: string]: readonly string[] }) {
  const part = z.looseObject({ type: z.string() }).check((context) => {
    const { value } = context;
    for (const [type, keys] of Object.entries(strings)) {
      for (const path of type === value.type ? keys : []) {
        if (typeof value[path] === 'string') continue;
        context.issues.push({ code: 'custom', path: [path], message: 'must be a string', input: value });
      }
    }
    if (value.type !== 'tool_result' || typeof (value.content ?? '') === 'string') return;
    const items = Array.isArray(value.content) ? value.content : undefined;
    const bad = items ? items.findIndex((item) => !isObject(item) || typeof item.type !== 'string') : 0;
    if (bad === -1) return;
    const [path, message] = items
      ? [['content', bad], 'must be an object with a type']
      : [['content'], 'must be a string or a list of parts'];
    context.issues.push({ code: 'custom', path, message, input: value });
  });
  return z.union([z.string(), z.array(part)]);
}

/** Lists the parts of a content. A text is one part, an empty text none. An invalid part becomes a text. */
export function partsOf(content: unknown): readonly Part[] {
  if (content === '' || content === null || content === undefined) return [];
  return [content].flat().map((part: unknown) => {
    if (isObject(part) && typeof part.type === 'string') return part as Part;
    return { type: 'text', text: typeof part === 'string' ? part : JSON.stringify(part) };
  });
}

/** Returns the content for parts: a string if there is only a plain text. */
export function contentOf(parts: readonly Part[]): string | readonly Part[] {
  const [only, second] = parts;
  if (only === undefined) return '';
  const isPlain = second === undefined && only.type === 'text' && Object.keys(only).length === 2;
  return isPlain ? String(only.text) : parts;
}
