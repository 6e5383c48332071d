import { type CompactOptions, InvalidInputError, type Message, type Usage } from '@x/core';
import { callable, having, parseWith } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import * as z from 'zod/mini';

const optionsSchema = z.strictObject({
  reason: z.optional(z.enum(['proactive_budget', 'request_too_large', 'manual'])),
  instructions: z.optional(z.string()),
  signal: z.optional(having<AbortSignal>('aborted', 'an AbortSignal')),
  system: z.optional(z.string()),
  tools: z.optional(z.array(having<ToolDefinition>('name', 'a tool definition'))),
  contextWindow: z.optional(z.number().check(z.minimum(1))),
  tokenRatio: z.optional(z.number().check(z.gt(0))),
  appendix: z.optional(z.string()),
  pins: z.optional(z.array(z.looseObject({ id: z.string(), text: z.string().check(z.minLength(1)) }))),
  upTo: z.optional(z.string()),
  logLocation: z.optional(z.string()),
  textOnly: z.optional(z.boolean()),
  onUsage: z.optional(callable<(usage: Usage) => void>()),
  recall: z.optional(z.string('must be a text that tells the model about the tool, such as RECALL_HINT')),
});

const REMEDY =
  'Create messages with userMessage and similar functions, or parse them with messageSchema. openaiMessages() and anthropicMessages() of ' +
  '@x/compaction/messages convert messages of the APIs. @x/ai-sdk, @x/openai-agents and @x/langchain convert those of other libraries.';

/**
 * Rejects invalid messages and options, such as messages of another library. Each message is checked once, because a conversation is
 * compacted repeatedly.
 *
 * @throws {InvalidInputError} naming the first bad message, and every bad option.
 */
export function checkRequest(messages: readonly Message[], options: CompactOptions): void {
  parseWith(optionsSchema, options, 'compact options');
  checkConversation(messages);
}

/**
 * Checks the fields of messages that stages rely on.
 *
 * @throws {InvalidInputError} naming the first bad message.
 */
export function checkConversation(messages: readonly Message[]): void {
  if (!Array.isArray(messages)) refuse('messages', 'must be a list of messages');
  for (const [index, message] of (messages as readonly unknown[]).entries()) {
    if (!isRecord(message)) refuse(`messages[${index}]`, 'must be a message');
    if (checked.has(message)) continue;
    const { id, content } = message;
    if (!isText(id) || id === '') refuse(`messages[${index}].id`, 'must be a non-empty string');
    if (!Array.isArray(content)) refuse(`messages[${index}].content`, 'must be a list of blocks');
    for (const [place, block] of content.entries())
      checkBlock(block, `messages[${index}].content[${place}]`, BLOCKS);
    checked.add(message);
  }
}

const checked = new WeakSet<object>();

type Fields = Readonly<Record<string, unknown>>;
/** Throws if a value is invalid. The error names its path. */
type Check = (value: unknown, path: string) => void;

const isRecord = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const isText = (value: unknown) => typeof value === 'string';

const text: Check = (value, path) => isText(value) || refuse(path, 'must be a string');
const record: Check = (value, path) => isRecord(value) || refuse(path, 'must be an object');

const json: Check = (value, path) => {
  if (value === undefined) refuse(path, 'is missing');
  try {
    JSON.stringify(value);
  } catch (error) {
    // A value that is nested too deeply for `JSON.stringify` throws a `RangeError`, but is valid.
    if (error instanceof TypeError) refuse(path, `is not valid JSON: ${error.message.split('\n', 1)[0]}`);
  }
};

const output: Check = (value, path) => {
  if (!Array.isArray(value)) refuse(path, 'must be a list of text and file blocks');
  for (const [place, part] of value.entries()) checkBlock(part, `${path}[${place}]`, OUTPUTS);
};

/** The required fields of each type of block. They are checked so that stages can rely on them. */
type Blocks = Readonly<Record<string, Readonly<Record<string, Check>>>>;

const OUTPUTS: Blocks = { text: { text }, file: { mediaType: text, source: record } };

const BLOCKS: Blocks = {
  ...OUTPUTS,
  thinking: { thinking: text },
  tool_use: { id: text, name: text, input: json },
  tool_result: { toolUseId: text, toolName: text, output },
  opaque: { provider: text, data: json },
};

function checkBlock(block: unknown, path: string, known: Blocks): void {
  const { type } = Object(block) as Fields;
  if (!isText(type)) refuse(`${path}.type`, 'must be a string');
  const checks = Object.hasOwn(known, type as string) ? known[type as string] : undefined;
  if (!checks) refuse(`${path}.type`, `"${type}" is not one of ${Object.keys(known).join(', ')}`);
  for (const [key, check] of Object.entries(checks)) check((block as Fields)[key], `${path}.${key}`);
}

function refuse(path: string, message: string): never {
  throw new InvalidInputError('conversation', [{ path, message }], { remedy: REMEDY });
}

/** Finds the first duplicate id. A manifest identifies messages by id, so ids must be unique. */
export function sharedId(messages: readonly Message[]): string | undefined {
  const seen = new Set<string>();
  return messages.find(({ id }) => seen.size === seen.add(id).size)?.id;
}
