import * as z from 'zod/mini';
import { InvalidInputError } from '../../errors/invalid-input-error.js';
import { isObject } from '../../lib/json.js';
import type { ContentBlock, FileBlock, ToolResultBlock, ToolUseBlock } from '../content-block.js';
import type { Message, Role } from '../message.js';
import { madeFrom, opaquePart, originOf, outputOf, type Part, partsFrom } from '../parts.js';

/** A message of a provider's API, where no type of the provider's library is named. */
export interface ProviderMessage {
  readonly role: string;
  readonly [key: string]: unknown;
}

/** The words of a provider or a framework, to be read. */
export interface Dialect {
  /** The provider of opaque blocks: they hold parts that only the provider can read. */
  readonly key: string;
  /** Lists everything that a message holds: texts, thoughts, files, calls and results. */
  parts(source: object): readonly Part[];
  /** Reads a part of a message in a role; `undefined` for a part that only the provider can read. */
  read(part: Part, role?: string): ContentBlock | undefined;
}

/** The words of a provider whose messages are also written. Texts, thoughts and results are parts in Anthropic's words. */
export interface WritableDialect extends Dialect {
  /** The provider, as error messages name it. */
  readonly name: string;
  readonly schema: z.ZodMiniType<ProviderMessage>;
  /** Writes a file or a call; `undefined` if the provider has no words for it. */
  write(block: FileBlock | ToolUseBlock, was: Part | undefined): Part | undefined;
  /** Writes the messages that hold the parts; `undefined` if the provider has no such role. */
  join(role: Role, parts: readonly Part[]): readonly ProviderMessage[] | undefined;
}

/** Reads all that a message holds. The provider's part that a block was made from is its origin. */
export function readBlocks(dialect: Dialect, source: object): readonly ContentBlock[] {
  const { role } = source as { readonly role?: string };
  return dialect
    .parts(source)
    .map((part) => madeFrom(dialect.read(part, role) ?? opaquePart(part, dialect.key), part, dialect.key));
}

/** Reads the result of a call in Anthropic's words. The name of the tool stands with the call alone. */
export function readResult(dialect: Dialect, part: Part): ToolResultBlock {
  const output = partsOf(part.content).map((own) =>
    madeFrom(outputOf(dialect.read(own), own), own, dialect.key),
  );
  const isError = part.is_error === true;
  return { type: 'tool_result', toolUseId: String(part.tool_use_id), toolName: '', output, isError };
}

/**
 * Writes a message: unaltered blocks as the very parts that they were read from, altered ones with all else that their part holds.
 *
 * @param before The blocks of the message before it was altered.
 * @returns Several messages where the provider has one for each result.
 * @throws {InvalidInputError} for a block or a role that the provider has no words for.
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
  const message = `a ${what} cannot be given to ${name}; leave it out, or use stages that write text`;
  throw new InvalidInputError('conversation', [{ path: 'content', message }]);
}

/**
 * The schema of a message's content: a text, or parts.
 *
 * @param strings By the type of a part, the fields that must be strings.
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

/** Lists the parts of a content. A text is one part, an empty text none; what is no part becomes a text. */
export function partsOf(content: unknown): readonly Part[] {
  if (content === '' || content === null || content === undefined) return [];
  return [content].flat().map((part: unknown) => {
    if (isObject(part) && typeof part.type === 'string') return part as Part;
    return { type: 'text', text: typeof part === 'string' ? part : JSON.stringify(part) };
  });
}

/** The content of parts; a string for a plain text alone. */
export function contentOf(parts: readonly Part[]): string | readonly Part[] {
  const [only, second] = parts;
  if (only === undefined) return '';
  const isPlain = second === undefined && only.type === 'text' && Object.keys(only).length === 2;
  return isPlain ? String(only.text) : parts;
}
