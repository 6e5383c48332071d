import { InvalidInputError } from '../errors/invalid-input-error.js';
import { timestamp } from '../lib/clock.js';
import type { JsonObject } from '../lib/json.js';
import type { ContentBlock, ToolOutputBlock, ToolResultBlock, ToolUseBlock } from './content-block.js';

/** The author of a message. Tool results are separate messages. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';
/** Marks messages written by the harness: a compaction's summary, or an injected message. */
export type MessageKind = 'summary' | 'synthetic';

/** One message of a conversation. It is plain and immutable: to change it, create another one. */
export interface Message {
  /** Unique within the session. */
  readonly id: string;
  readonly role: Role;
  readonly content: readonly ContentBlock[];
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly kind?: MessageKind | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** Optional fields that a caller may set. */
export interface MessageOptions {
  /** Default: a random UUID. */
  readonly id?: string;
  /** ISO 8601, UTC. Default: now. */
  readonly createdAt?: string;
  readonly kind?: MessageKind;
  readonly metadata?: JsonObject;
}

type Content = string | readonly ContentBlock[];

/**
 * Creates a message of the user.
 *
 * @example
 * ```ts
 * const message = userMessage('Hello', { metadata: { channel: 'web' } });
 * ```
 * @throws {InvalidInputError} if the content is neither a text nor a list of blocks.
 */
export function userMessage(content: Content, options?: MessageOptions): Message {
  return create('user', content, options);
}

/** Creates a message of the model, including its tool calls. */
export function assistantMessage(content: Content, options?: MessageOptions): Message {
  return create('assistant', content, options);
}

/** Creates a message with instructions. They are rare inside a conversation: the system prompt itself is in `ModelRequest.system`. */
export function systemMessage(content: Content, options?: MessageOptions): Message {
  return create('system', content, options);
}

/** Creates the message with the result of `call`. A string becomes one text block. */
export function toolResultMessage(
  call: Pick<ToolUseBlock, 'id' | 'name'>,
  output: string | readonly ToolOutputBlock[],
  options: MessageOptions & { readonly isError?: boolean } = {},
): Message {
  const { isError = false, ...rest } = options;
  return create('tool', [toolResultBlock(call, output, isError)], rest);
}

/** Creates the block of a {@link toolResultMessage}. */
export function toolResultBlock(
  call: Pick<ToolUseBlock, 'id' | 'name'>,
  output: string | readonly ToolOutputBlock[],
  isError = false,
): ToolResultBlock {
  return {
    type: 'tool_result',
    toolUseId: call.id,
    toolName: call.name,
    output: typeof output === 'string' ? [{ type: 'text', text: output }] : output,
    isError,
  };
}

/**
 * Returns the text of a message or of blocks, including tool outputs but not thinking. Blocks are joined by line breaks. Blocks of an
 * assistant message are joined without a separator, because providers split one sentence into several blocks.
 */
export function textOf(source: Message | readonly ContentBlock[]): string {
  const blocks = 'content' in source ? source.content : source;
  const joint = 'content' in source && source.role === 'assistant' ? '' : '\n';
  const parts: string[] = [];
  for (const block of blocks) {
    if (block.type === 'text') parts.push(block.text);
    else if (block.type === 'tool_result') {
      for (const part of block.output) if (part.type === 'text') parts.push(part.text);
    }
  }
  return parts.join(joint);
}

/** Tests if a message has a number in its session. System prompts and messages that a capability inserted have none. */
export function isNumbered({ role, kind }: Pick<Message, 'role' | 'kind'>): boolean {
  return role !== 'system' && kind === undefined;
}

/** Returns the tool calls of a message. */
export function toolUsesOf(message: Message): readonly ToolUseBlock[] {
  return message.content.filter((block) => block.type === 'tool_use');
}

/** Returns the index of the provider's own compaction in a summary, which replaces everything before it, or -1. */
export function nativeIndex({ kind, content }: Pick<Message, 'kind' | 'content'>): number {
  return kind === 'summary' ? content.findLastIndex((block) => block.type === 'opaque') : -1;
}

/** Returns the tool results of a message. */
export function toolResultsOf(message: Message): readonly ToolResultBlock[] {
  return message.content.filter((block) => block.type === 'tool_result');
}

/** Returns how many messages two lists have in common at their beginning. Messages are immutable, so comparing objects suffices. */
export function commonPrefix(left: readonly Message[], right: readonly Message[]): number {
  const end = Math.min(left.length, right.length);
  let index = 0;
  // `Object.is` compares addresses. `===` may read each object first, which takes several times as long for thousands of messages.
  while (index < end && left[index] === right[index]) index++;
  return index;
}

function create(role: Role, content: Content, options: MessageOptions = {}): Message {
  if (typeof content !== 'string' && !Array.isArray(content)) {
    throw new InvalidInputError(`${role} message`, [
      { path: 'content', message: 'must be a string or a list of blocks' },
    ]);
  }
  return {
    id: options.id ?? crypto.randomUUID(),
    role,
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    createdAt: options.createdAt ?? timestamp(),
    ...(options.kind === undefined ? {} : { kind: options.kind }),
    ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
  };
}
