import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages';
import { type Message, textOf, toolResultsOf, toolUsesOf } from '@x/core';
import { type Part, partsFrom } from '@x/core/messages';
import { CARRIED, partsOf, sourceOf, toMessage } from './to-message.js';

/**
 * Converts a message to LangChain's format. An unaltered message becomes the object that it was made from. An altered message keeps the
 * unchanged fields of that object.
 *
 * @param original The object that an altered message was made from.
 */
export function fromMessage(
  message: Message,
  original: BaseMessage | undefined,
  summaryPrefix: string | undefined,
): BaseMessage {
  const source = sourceOf(message);
  if (source !== undefined) return source;
  const fields = fieldsOf(message, original);
  const before = original && toMessage(original);
  switch (message.role) {
    case 'tool': {
      const { toolUseId = '', toolName, output = [], isError } = toolResultsOf(message)[0] ?? {};
      return new ToolMessage({
        ...fields,
        content: contentOf(output, original, before && toolResultsOf(before)[0]?.output),
        tool_call_id: toolUseId,
        status: isError ? 'error' : 'success',
        ...(toolName ? { name: toolName } : {}),
        ...(ToolMessage.isInstance(original)
          ? { artifact: original.artifact, metadata: original.metadata }
          : {}),
      });
    }
    case 'assistant':
      return assistantMessage(message, AIMessage.isInstance(original) ? original : undefined, fields);
    case 'system':
      return new SystemMessage({ ...fields, content: contentOf(message.content, original, before?.content) });
    case 'user': {
      const prefix = message.kind === 'summary' && summaryPrefix ? `${summaryPrefix}\n\n` : '';
      const content = contentOf(message.content, original, before?.content);
      return new HumanMessage({
        ...fields,
        content: typeof content === 'string' ? prefix + content : content,
      });
    }
  }
}

function fieldsOf({ id, kind, metadata }: Message, original: BaseMessage | undefined) {
  const carried = kind === undefined && metadata === undefined ? {} : { [CARRIED]: { kind, metadata } };
  const source = kind === 'summary' ? { lc_source: 'summarization' } : {};
  return {
    id,
    ...(original?.name === undefined ? {} : { name: original.name }),
    additional_kwargs: { ...original?.additional_kwargs, ...source },
    response_metadata: { ...original?.response_metadata, ...carried },
  };
}

type Fields = ReturnType<typeof fieldsOf>;

function assistantMessage(message: Message, original: AIMessage | undefined, fields: Fields): AIMessage {
  const calls = new Map(toolUsesOf(message).map((call) => [call.id, call]));
  const tool_calls = [...calls.values()].map(({ id, name, input }) => {
    const before = original?.tool_calls?.find((call) => call.id === id);
    return { ...before, type: 'tool_call' as const, id, name, args: input as Record<string, unknown> };
  });
  // The calls are also in the content and in the provider's raw data, so all three are changed alike.
  const raw = original === undefined ? [] : partsOf(original);
  const inContent = raw.flatMap((part) => {
    const call = calls.get(String(part.id));
    if (call === undefined) return [];
    const key = 'args' in part ? 'args' : 'input';
    return [{ ...part, [key]: typeof part[key] === 'string' ? JSON.stringify(call.input) : call.input }];
  });
  const own = message.content.filter((block) => block.type !== 'tool_use');
  const { tool_calls: sent, ...kwargs } = fields.additional_kwargs as {
    readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
  };
  const toolCalls = sent?.flatMap((call) => {
    const { input } = calls.get(call.id) ?? {};
    return input === undefined
      ? []
      : [{ ...call, function: { ...call.function, arguments: JSON.stringify(input) } }];
  });
  // Remove the provider's raw items, because they would be sent instead of the changed content.
  const { output: _, ...response_metadata } = fields.response_metadata as Record<string, unknown>;
  return new AIMessage({
    ...fields,
    response_metadata,
    additional_kwargs: { ...kwargs, ...(toolCalls ? { tool_calls: toolCalls } : {}) } as never,
    content: contentOf(own, original, original && toMessage(original).content, inContent) as never,
    tool_calls,
    ...(original?.invalid_tool_calls && { invalid_tool_calls: original.invalid_tool_calls }),
    ...(original?.usage_metadata === undefined ? {} : { usage_metadata: original.usage_metadata }),
  });
}

/** Returns the content as a string if it is only text. If the original has text parts, keeps them as parts with their other fields. */
function contentOf(
  blocks: Message['content'],
  original: BaseMessage | undefined,
  before: Message['content'] | undefined,
  more: readonly Part[] = [],
): string | Part[] {
  const isPlain = blocks.every((block) => block.type === 'text') && more.length === 0;
  if (isPlain && !Array.isArray(original?.content)) return textOf(blocks);
  return [...partsFrom(blocks, before), ...more];
}
