import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import type { ContentBlock, JsonValue, Message } from '@x/core';
import { madeFrom, opaquePart, originOf, type Part, type Role, readOutput, readPart } from '@x/core/messages';

/** The key in a message's response metadata for its kind and metadata. */
export const CARRIED = '@x/langchain';
/** The time of every message. LangChain stores no times, and with a constant, repeated conversions give equal messages. */
const CREATED_AT = new Date(0).toISOString();
/** The provider name of opaque blocks for content parts that only LangChain understands. */
const PROVIDER = 'langchain';

const messages = new WeakMap<BaseMessage, { readonly content: unknown; readonly message: Message }>();

/**
 * Converts a LangChain message, which must have an id. Returns the same object for the same message. If an application has replaced the
 * message's content since, for example to redact it, converts it again.
 */
export function toMessage(source: BaseMessage): Message {
  const known = messages.get(source);
  if (known?.content === source.content && known.message.id === source.id) return known.message;
  const carried = source.response_metadata?.[CARRIED] as Pick<Message, 'kind' | 'metadata'> | undefined;
  // LangChain's own middleware marks its summaries like this. A thread may contain some from before.
  const isSummary = source.additional_kwargs?.lc_source === 'summarization';
  const message: Message = {
    id: source.id ?? '',
    role: roleOf(source),
    content: ToolMessage.isInstance(source) ? [toolResult(source)] : contentOf(source),
    createdAt: CREATED_AT,
    ...(isSummary ? { kind: 'summary' } : {}),
    ...carried,
  };
  messages.set(source, { content: source.content, message });
  return madeFrom(message, source);
}

/** Returns the message that this one was made from, or `undefined` if either was altered since. */
export function sourceOf(message: Message): BaseMessage | undefined {
  const source = originOf(message) as BaseMessage | undefined;
  return source !== undefined && messages.get(source)?.message === message ? source : undefined;
}

/** Returns the parts of a message's content. A string is one text part. */
export function partsOf({ content }: BaseMessage): readonly Part[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly Part[]);
}

function roleOf(source: BaseMessage): Role {
  if (ToolMessage.isInstance(source)) return 'tool';
  if (AIMessage.isInstance(source)) return 'assistant';
  return source.type === 'system' ? 'system' : 'user';
}

function contentOf(source: BaseMessage): readonly ContentBlock[] {
  const calls = AIMessage.isInstance(source) ? (source.tool_calls ?? []) : [];
  const ids = new Set(calls.map(({ id }) => id));
  const own = partsOf(source).flatMap((part): ContentBlock[] => {
    // A call is both in the content and in `tool_calls`. Count it once.
    if (typeof part.id === 'string' && ids.has(part.id)) return [];
    if (part.type === 'text' && part.text === '') return [];
    return [madeFrom(blockOf(part), part)];
  });
  const toolUses = calls.map(({ id = '', name, args }): ContentBlock => {
    return { type: 'tool_use', id, name, input: args as JsonValue };
  });
  return [...own, ...toolUses];
}

function toolResult(source: ToolMessage): ContentBlock {
  const output = partsOf(source).map((part) => madeFrom(readOutput(part), part));
  return {
    type: 'tool_result',
    toolUseId: source.tool_call_id,
    toolName: source.name ?? '',
    output,
    isError: source.status === 'error',
  };
}

function blockOf(part: Part): ContentBlock {
  // LangChain does not run a call that is only in the content.
  const block = readPart(part);
  return block === undefined || block.type === 'tool_use' ? opaquePart(part, PROVIDER) : block;
}
