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
 * A message of the AI SDK, version 5 or later: a `ModelMessage` of an application, or a message of a model's prompt. Declares only the
 * fields that this package reads. All other fields are kept.
 */
export interface SdkMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly SdkPart[];
  readonly providerOptions?: object | undefined;
}

/** A part of a message, of any type. */
interface SdkPart {
  readonly type: string;
  readonly providerOptions?: object | undefined;
}

/** Fingerprints by message, each with the fingerprint of the messages before it. */
const known = new WeakMap<SdkMessage, { readonly before: string; readonly id: string }>();

/**
 * Returns for each message a fingerprint of the conversation up to this message. Equal conversations have equal fingerprints, even if they
 * are different objects. The fingerprints are cached by message.
 *
 * @param before The fingerprint of earlier messages that are not in `messages`. Default: there are none.
 * @throws {InvalidInputError} if a message is not a `ModelMessage`.
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

/** Provider options that mark the end of a cached prompt. Applications move these marks to the newest message with each call. */
const CACHE_MARKS: readonly string[] = ['cacheControl', 'cache_control', 'cachePoint'];

/** Removes the cache marks of a message and of its parts, also within tool results. */
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

/** A message, a part of a message, or a tool result: an object that may have cache marks. */
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

/** @throws {InvalidInputError} if it is not a `ModelMessage`, for example a message of `useChat`. */
function checkContent({ content }: SdkMessage): void {
  if (typeof content === 'string' || Array.isArray(content)) return;
  const message =
    'is missing, so these are not ModelMessages. Convert messages of useChat with convertToModelMessages first';
  throw new InvalidInputError('message', [{ path: 'content', message }]);
}

/** The time of every message. The SDK stores no times, and with a constant, repeated conversions give equal messages. */
const CREATED_AT = new Date(0).toISOString();

const messages = new WeakMap<SdkMessage, Message>();

/** Converts a message of the SDK. Returns the same object for the same message, so a step only converts new messages. */
export function toMessage(source: SdkMessage, id: string): Message {
  const known = messages.get(source);
  if (known?.id === id) return known;
  const content = readBlocks(aiSdkDialect, source);
  const message = madeFrom<Message>({ id, role: source.role, content, createdAt: CREATED_AT }, source);
  messages.set(source, message);
  return message;
}

/**
 * Converts a message to the SDK's format. An unchanged message becomes the object that it was made from. A changed message keeps the
 * unchanged parts of that object.
 *
 * @param original The object that a changed message was made from.
 * @throws {InvalidInputError} if the SDK has no format for a block, for example for an item of another library.
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

/** @param was The block before the change. The other fields of its part are kept. */
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
      const message = `has a ${block.type} block, for which the AI SDK has no format. Use only stages that write text`;
      throw new InvalidInputError('reduced conversation', [{ path: 'content', message }]);
    }
  }
}

/**
 * Converts a tool result to the SDK's format. Unchanged parts stay the same objects.
 *
 * @param before The result before the change.
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
