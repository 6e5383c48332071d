import { InvalidInputError } from '../errors/invalid-input-error.js';
import { timestamp } from '../lib/clock.js';
import type { JsonObject } from '../lib/json.js';
import type { ContentBlock, ToolOutputBlock, ToolResultBlock, ToolUseBlock } from './content-block.js';

/** The speaker of a message. Tool results are messages of their own. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';
/** Marks what the harness wrote: a compaction's summary, or an injected message. */
export type MessageKind = 'summary' | 'synthetic';

/** One message of a conversation. Plain and immutable: to change one, make another. */
export interface Message {
  readonly id: string;
  readonly role: Role;
  readonly content: readonly ContentBlock[];
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly kind?: MessageKind | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** Fields with defaults that a caller may set. */
export interface MessageOptions {
  readonly id?: string;
  readonly createdAt?: string;
  readonly kind?: MessageKind;
  readonly metadata?: JsonObject;
}

type Content = string | readonly ContentBlock[];

/**
 * Makes a message of the user.
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

/** Makes a message of the model, tool calls included. */
export function assistantMessage(content: Content, options?: MessageOptions): Message {
  return create('assistant', content, options);
}

/** Instructions. Inside a conversation they are rare: the system prompt itself travels in `ModelRequest.system`. */
export function systemMessage(content: Content, options?: MessageOptions): Message {
  return create('system', content, options);
}

/** The answer to `call`. A string becomes one text block. */
export function toolResultMessage(
  call: Pick<ToolUseBlock, 'id' | 'name'>,
  output: string | readonly ToolOutputBlock[],
  options: MessageOptions & { readonly isError?: boolean } = {},
): Message {
  const { isError = false, ...rest } = options;
  return create('tool', [toolResultBlock(call, output, isError)], rest);
}

/** The block inside a {@link toolResultMessage}. */
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
 * All text of a message or of blocks, text blocks and tool outputs alike; thinking is left out. Blocks are joined by line
 * breaks, but those of an assistant's message by nothing: providers split one sentence into several blocks.
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

/** The tool calls of a message. */
export function toolUsesOf(message: Message): readonly ToolUseBlock[] {
  return message.content.filter((block) => block.type === 'tool_use');
}

/** The place of a provider's own compaction in a summary, which stands for all that is before it; -1 if there is none. */
export function nativeIndex({ kind, content }: Pick<Message, 'kind' | 'content'>): number {
  return kind === 'summary' ? content.findLastIndex((block) => block.type === 'opaque') : -1;
}

/** The tool results of a message. */
export function toolResultsOf(message: Message): readonly ToolResultBlock[] {
  return message.content.filter((block) => block.type === 'tool_result');
}

/** How many messages two lists begin with alike. Messages are immutable: the same object is the same message, and pointers are compared in microseconds. */
export function commonPrefix(left: readonly Message[], right: readonly Message[]): number {
  const end = Math.min(left.length, right.length);
  let index = 0;
  while (index < end && left[index] === right[index]) index++;
  return index;
}

function create(role: Role, content: Content, options: MessageOptions = {}): Message {
  if (typeof content !== 'string' && !Array.isArray(content)) {
    throw new InvalidInputError(`${role} message`, [
      { path: 'content', message: 'must be a text or a list of blocks' },
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
