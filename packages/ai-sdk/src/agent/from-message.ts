import {
  type ContentBlock,
  InvalidInputError,
  type Message,
  originOf,
  type Part,
  partsFrom,
  type ToolResultBlock,
  textOf,
} from '@x/core';
import { optionsOf } from '../prompt/prompt.js';
import type { SdkMessage } from './sdk-message.js';
import { outputBlocks, toMessage } from './to-message.js';

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

/** @param before The part that the block was made from before it was altered: what else it holds stays. */
function rebuilt(block: ContentBlock, before: Part | undefined): Part {
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
      const message = `a ${block.type} block cannot be given to the AI SDK; use reducers that write text`;
      throw new InvalidInputError('reduced conversation', [{ path: 'content', message }]);
    }
  }
}

/**
 * A tool's answer in the words of the SDK; parts that were not altered are the very ones they were.
 *
 * @param before The answer before it was altered.
 */
export function toolOutput(
  { output, isError }: Pick<ToolResultBlock, 'output' | 'isError'>,
  before: Part | undefined,
): Part {
  const options = before?.providerOptions === undefined ? {} : { providerOptions: before.providerOptions };
  const value = partsFrom(output, before && outputBlocks(before));
  if ([...output, ...value].every(({ type }) => type === 'text')) {
    return { type: isError ? 'error-text' : 'text', value: textOf(output), ...options };
  }
  return { type: 'content', value, ...options };
}
