import {
  type ContentBlock,
  InvalidInputError,
  type Message,
  originOf,
  type Part,
  type ToolResultBlock,
  textOf,
} from '@x/core';
import { optionsOf } from '../prompt/prompt.js';
import type { SdkMessage } from './sdk-message.js';

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
  const content = message.content.map(
    (block) => (originOf(block) as Part | undefined) ?? rebuilt(block, original),
  );
  return { role: message.role, content, ...options };
}

function rebuilt(block: ContentBlock, original: SdkMessage | undefined): Part {
  const options = optionsOf(block.providerMetadata);
  /** A changed call or result: what else the part that it was made from carries stays. */
  const half = (type: string, toolCallId: string, toolName: string): Part => {
    const parts = typeof original?.content === 'string' ? [] : ((original?.content ?? []) as readonly Part[]);
    const before = parts.find((part) => part.type === type && part.toolCallId === toolCallId);
    return { type, toolCallId, toolName, ...before };
  };
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, ...options };
    case 'thinking':
      return { type: 'reasoning', text: block.thinking, ...options };
    case 'tool_use':
      return { ...half('tool-call', block.id, block.name), input: block.input };
    case 'tool_result':
      return { ...half('tool-result', block.toolUseId, block.toolName), output: toolOutput(block) };
    default: {
      const message = `a ${block.type} block cannot be given to the AI SDK; use reducers that write text`;
      throw new InvalidInputError('reduced conversation', [{ path: 'content', message }]);
    }
  }
}

/** A tool's answer in the words of the SDK; files that were not altered are the very parts they were. */
export function toolOutput({ output, isError }: Pick<ToolResultBlock, 'output' | 'isError'>): Part {
  if (output.every((part) => part.type === 'text')) {
    return { type: isError ? 'error-text' : 'text', value: textOf(output) };
  }
  const value = output.map(
    (part) =>
      originOf(part) ?? { type: 'text', text: part.type === 'text' ? part.text : `[${part.mediaType}]` },
  );
  return { type: 'content', value };
}
