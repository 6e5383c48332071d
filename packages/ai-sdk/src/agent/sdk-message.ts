import { type ContentBlock, InvalidInputError, type Message, type ToolResultBlock, textOf } from '@x/core';
import { digest, exactText, wellFormed } from '@x/core/internal';
import {
  aiSdkDialect,
  aiSdkOutput,
  madeFrom,
  originOf,
  type Part,
  partsFrom,
  readBlocks,
} from '@x/core/messages';
import { optionsOf } from '../prompt/prompt.js';

/**
 * A message of the AI SDK: what a user keeps (`ModelMessage`) and what a model is sent, of version 5 and later. Described
 * as far as it is read here; every field is carried.
 */
export interface SdkMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly SdkPart[];
  readonly providerOptions?: object | undefined;
}

/** A part of a message, of whatever type. */
interface SdkPart {
  readonly type: string;
  readonly providerOptions?: object | undefined;
}

/** For each message that was seen: what came before it then, and its fingerprint behind that. */
const known = new WeakMap<SdkMessage, { readonly before: string; readonly id: string }>();

/**
 * For each message an id that stands for it and all that comes before it: equal for equal beginnings of a conversation,
 * in whatever objects and calls, so that it can be found again. An object behind the same beginning is read once.
 *
 * @param before The id of the conversation in front of the messages, if it is not with them.
 */
export function fingerprints(messages: readonly SdkMessage[], before = ''): readonly string[] {
  let id = before;
  return messages.map((message) => {
    id = fingerprint(message, id);
    return id;
  });
}

function fingerprint(message: SdkMessage, before: string): string {
  const seen = known.get(message);
  if (seen?.before === before) return seen.id;
  checkContent(message);
  const id = digest(`${before} ${exactText(unmarked(wellFormed(message)))}`).slice(0, 32);
  known.set(message, { before, id });
  return id;
}

/** Options that mark the end of a cached prompt. Applications move these marks to the newest message at each call. */
const CACHE_MARKS: readonly string[] = ['cacheControl', 'cache_control', 'cachePoint'];

/** Leaves out the marks of a message and of its parts, also of those within a tool's answer. */
export function unmarked<Marked extends Holder>(marked: Marked): Marked {
  if (typeof marked !== 'object' || marked === null) return marked;
  const { type, content, output, value } = marked;
  return {
    ...withoutMarks(marked),
    ...(Array.isArray(content) ? { content: content.map(unmarked) } : {}),
    ...(output === undefined ? {} : { output: unmarked(output as Holder) }),
    ...(type === 'content' && Array.isArray(value) ? { value: value.map(unmarked) } : {}),
  };
}

/** A message, a part of one, or the answer of a tool. */
interface Holder {
  readonly type?: string;
  readonly content?: unknown;
  readonly output?: unknown;
  readonly value?: unknown;
  readonly providerOptions?: object | undefined;
}

function withoutMarks<Marked extends Holder>(marked: Marked): Marked {
  if (!marked.providerOptions) return marked;
  const options = Object.entries(marked.providerOptions).flatMap(([provider, values]) => {
    const kept = Object.entries({ ...values }).filter(([key]) => !CACHE_MARKS.includes(key));
    return kept.length === 0 ? [] : [[provider, Object.fromEntries(kept)]];
  });
  return { ...marked, providerOptions: options.length === 0 ? undefined : Object.fromEntries(options) };
}

/** @throws {InvalidInputError} for what is no message that a model is sent, such as one that `useChat` keeps. */
function checkContent({ content }: SdkMessage): void {
  if (typeof content === 'string' || Array.isArray(content)) return;
  const message =
    'is missing, so these are not ModelMessages. Convert messages of useChat with convertToModelMessages first';
  throw new InvalidInputError('message', [{ path: 'content', message }]);
}

/** The SDK keeps no times: one for all, so that a message is the same whenever it is converted. */
const CREATED_AT = new Date(0).toISOString();

const messages = new WeakMap<SdkMessage, Message>();

/** A message of the SDK in our words; the same object for the same message, so that a step costs what it adds. */
export function toMessage(source: SdkMessage, id: string): Message {
  const known = messages.get(source);
  if (known?.id === id) return known;
  const content = readBlocks(aiSdkDialect, source);
  const message = madeFrom<Message>({ id, role: source.role, content, createdAt: CREATED_AT }, source);
  messages.set(source, message);
  return message;
}

/**
 * A message in the words of the SDK: the very object it was made from unless it was altered, and of an altered one every
 * part that is still the same.
 *
 * @param original What it was made from, when it was altered since.
 * @throws {InvalidInputError} for a block that the SDK has no words for, such as another library's own item.
 */
export function fromMessage(message: Message, original: SdkMessage | undefined): SdkMessage {
  const source = originOf(message);
  if (source !== undefined) return source as SdkMessage;
  const options =
    original?.providerOptions === undefined ? {} : { providerOptions: original.providerOptions };
  if (message.role === 'system') return { role: 'system', content: textOf(message), ...options };
  const before = original && toMessage(original, message.id).content;
  return { role: message.role, content: partsFrom(message.content, before, rebuilt), ...options };
}

/** @param was The block before it was altered: what else its part holds stays. */
function rebuilt(block: ContentBlock, was: ContentBlock | undefined): Part {
  const before = was && (originOf(was) as Part | undefined);
  const made = { ...before, ...optionsOf(block.providerMetadata) };
  switch (block.type) {
    case 'text':
      return { ...made, type: 'text', text: block.text };
    case 'thinking':
      return { ...made, type: 'reasoning', text: block.thinking };
    case 'tool_use':
      return { ...made, type: 'tool-call', toolCallId: block.id, toolName: block.name, input: block.input };
    case 'tool_result': {
      const { toolUseId: toolCallId, toolName } = block;
      const output = toolOutput(block, before?.output as Part | undefined);
      return { ...made, type: 'tool-result', toolCallId, toolName, output };
    }
    default: {
      const message = `a ${block.type} block cannot be given to the AI SDK; use stages that write text`;
      throw new InvalidInputError('reduced conversation', [{ path: 'content', message }]);
    }
  }
}

/**
 * A tool's answer in the words of the SDK; parts that were not altered are the very ones they were.
 *
 * @param before The answer before it was altered.
 */
function toolOutput(
  { output, isError }: Pick<ToolResultBlock, 'output' | 'isError'>,
  before: Part | undefined,
): Part {
  const options = before?.providerOptions === undefined ? {} : { providerOptions: before.providerOptions };
  const value = partsFrom(output, before && aiSdkOutput(before));
  if ([...output, ...value].every(({ type }) => type === 'text')) {
    return { type: isError ? 'error-text' : 'text', value: textOf(output), ...options };
  }
  return { type: 'content', value, ...options };
}
