import type { ContentBlock, Message, OpaqueBlock, ToolOutputBlock, ToolResultBlock } from '@x/core';
import { parseToolInput } from '../response/tool-input.js';
import { toJson } from '../to-json.js';
import { fileBlock } from './file-block.js';
import { metadataIn, type OpenPart, type SdkMessage, type SdkPart } from './sdk-message.js';

/** The SDK keeps no times: one for all, so that a message is the same whenever it is converted. */
const CREATED_AT = new Date(0).toISOString();
/** The provider of blocks that carry a part of which only the SDK knows the meaning. */
const PROVIDER = 'ai-sdk';

const messages = new WeakMap<SdkMessage, Message>();
const sources = new WeakMap<Message, SdkMessage>();
const parts = new WeakMap<ContentBlock | ToolOutputBlock, SdkPart>();

/**
 * A message of the SDK in our words; the same object for the same message, so that a step costs what it adds.
 * {@link sourceOf} and {@link partOf} find what it was made from.
 */
export function toMessage(source: SdkMessage, id: string): Message {
  const known = messages.get(source);
  if (known?.id === id) return known;
  const content =
    typeof source.content === 'string'
      ? [{ type: 'text' as const, text: source.content }]
      : source.content.map((part) => remember(blockOf(part as OpenPart, source.role), part));
  const message: Message = { id, role: source.role, content, createdAt: CREATED_AT };
  messages.set(source, message);
  sources.set(message, source);
  return message;
}

/** What a message was made from, unless it was altered since. */
export function sourceOf(message: Message): SdkMessage | undefined {
  return sources.get(message);
}

/** What a block was made from, unless it was altered since. */
export function partOf(block: ContentBlock | ToolOutputBlock): SdkPart | undefined {
  return parts.get(block);
}

function remember<Block extends ContentBlock | ToolOutputBlock>(block: Block, part: SdkPart): Block {
  parts.set(block, part);
  return block;
}

function blockOf(part: OpenPart, role: SdkMessage['role']): ContentBlock {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: String(part.text), ...metadataIn(part) };
    case 'reasoning':
      return { type: 'thinking', thinking: String(part.text), ...metadataIn(part) };
    case 'image':
    case 'file':
      return fileBlock(part) ?? opaque(part);
    case 'tool-call':
      if (part.providerExecuted) return opaque(part, 'call');
      return {
        type: 'tool_use',
        id: String(part.toolCallId),
        name: String(part.toolName),
        input: parseToolInput(part.input),
        ...metadataIn(part),
      };
    case 'tool-result':
      // In a message of the assistant it is of a tool that the provider ran itself, at once or for an earlier answer.
      return role === 'assistant' ? opaque(part, 'result') : toolResult(part);
    default:
      return opaque(part);
  }
}

function opaque(part: OpenPart, half?: OpaqueBlock['half']): ContentBlock {
  const pairing = half === undefined ? {} : { callId: String(part.toolCallId), half };
  return { type: 'opaque', provider: PROVIDER, data: toJson(part), ...pairing };
}

function toolResult(part: OpenPart): ToolResultBlock {
  const output = part.output as OpenPart;
  return {
    type: 'tool_result',
    toolUseId: String(part.toolCallId),
    toolName: String(part.toolName),
    output: outputBlocks(output),
    isError: output.type.startsWith('error') || output.type === 'execution-denied',
    ...metadataIn(part),
  };
}

/** A tool's answer as blocks. */
export function outputBlocks(output: OpenPart): readonly ToolOutputBlock[] {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return [{ type: 'text', text: String(output.value) }];
    case 'execution-denied':
      return [{ type: 'text', text: String(output.reason ?? 'The user refused this call.') }];
    case 'content':
      return (output.value as readonly OpenPart[]).map((part) => remember(outputBlock(part), part));
    default:
      return [{ type: 'text', text: JSON.stringify(output.value) ?? '' }];
  }
}

function outputBlock(part: OpenPart): ToolOutputBlock {
  if (part.type === 'text') return { type: 'text', text: String(part.text), ...metadataIn(part) };
  return fileBlock(part) ?? { type: 'text', text: JSON.stringify(toJson(part)) };
}
