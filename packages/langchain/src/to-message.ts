import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import type { ContentBlock, JsonValue, Message } from '@x/core';
import { madeFrom, opaquePart, originOf, type Part, type Role, readOutput, readPart } from '@x/core/messages';

/** The key in a message's response metadata under which it carries its kind and metadata. */
export const CARRIED = '@x/langchain';
/** LangChain keeps no times: one for all, so that a message is the same whenever it is converted. */
const CREATED_AT = new Date(0).toISOString();
/** The provider of blocks that carry a part of which only LangChain knows the meaning. */
const PROVIDER = 'langchain';

const messages = new WeakMap<BaseMessage, { readonly content: unknown; readonly message: Message }>();

/**
 * Reads a message of LangChain; gives the same object for the same message. It must have an id. A message whose content
 * an application replaced since (a redaction) is read again.
 */
export function toMessage(source: BaseMessage): Message {
  const known = messages.get(source);
  if (known?.content === source.content && known.message.id === source.id) return known.message;
  const carried = source.response_metadata?.[CARRIED] as Pick<Message, 'kind' | 'metadata'> | undefined;
  // The mark of LangChain's own middleware, whose summaries a thread may hold from before.
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

/** The message that this one was made from, unless either was altered since. */
export function sourceOf(message: Message): BaseMessage | undefined {
  const source = originOf(message) as BaseMessage | undefined;
  return source !== undefined && messages.get(source)?.message === message ? source : undefined;
}

/** The parts of a message's content; a text is one. */
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
    // A call stands in the content and beside it; it is one call.
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
  // A call that does not stand beside the content is none that LangChain runs.
  const block = readPart(part);
  return block === undefined || block.type === 'tool_use' ? opaquePart(part, PROVIDER) : block;
}
