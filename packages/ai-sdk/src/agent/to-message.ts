import {
  type ContentBlock,
  type JsonObject,
  type Message,
  madeFrom,
  opaquePart,
  type Part,
  plainJson,
  readOutput,
  readPart,
  type ToolOutputBlock,
  type ToolResultBlock,
} from '@x/core';
import type { SdkMessage } from './sdk-message.js';

/** The SDK keeps no times: one for all, so that a message is the same whenever it is converted. */
const CREATED_AT = new Date(0).toISOString();
/** The provider of blocks that carry a part of which only the SDK knows the meaning. */
const PROVIDER = 'ai-sdk';

const messages = new WeakMap<SdkMessage, Message>();

/** A message of the SDK in our words; the same object for the same message, so that a step costs what it adds. */
export function toMessage(source: SdkMessage, id: string): Message {
  const known = messages.get(source);
  if (known?.id === id) return known;
  const content =
    typeof source.content === 'string'
      ? [{ type: 'text' as const, text: source.content }]
      : source.content.map((part) => madeFrom(blockOf(part as Part, source.role), part));
  const message = madeFrom<Message>({ id, role: source.role, content, createdAt: CREATED_AT }, source);
  messages.set(source, message);
  return message;
}

function blockOf(part: Part, role: SdkMessage['role']): ContentBlock {
  // In a message of the assistant a result is of a tool that the provider ran itself, at once or for an earlier answer.
  if (part.type === 'tool-result' && role !== 'assistant') return toolResult(part);
  const block = part.providerExecuted ? undefined : readPart(part);
  return block === undefined ? opaquePart(part, PROVIDER) : { ...block, ...metadataIn(part) };
}

function toolResult(part: Part): ToolResultBlock {
  const output = part.output as Part;
  return {
    type: 'tool_result',
    toolUseId: String(part.toolCallId),
    toolName: String(part.toolName),
    output: outputBlocks(output),
    isError: output.type.startsWith('error') || output.type === 'execution-denied',
    ...metadataIn(part),
  };
}

const outputs = new WeakMap<Part, readonly ToolOutputBlock[]>();

/** A tool's answer as blocks; the same objects for the same answer. */
export function outputBlocks(output: Part): readonly ToolOutputBlock[] {
  const blocks = outputs.get(output) ?? blocksOf(output);
  outputs.set(output, blocks);
  return blocks;
}

function blocksOf(output: Part): readonly ToolOutputBlock[] {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return [{ type: 'text', text: String(output.value) }];
    case 'execution-denied':
      return [{ type: 'text', text: String(output.reason ?? 'The user refused this call.') }];
    case 'content':
      return (output.value as readonly Part[]).map((part) =>
        madeFrom({ ...readOutput(part), ...metadataIn(part) }, part),
      );
    default:
      return [{ type: 'text', text: JSON.stringify(output.value) ?? '' }];
  }
}

/** `{ providerMetadata }` for a block, from the options of its part; nothing where there are none. */
function metadataIn({ providerOptions }: Part): { readonly providerMetadata?: JsonObject } {
  if (typeof providerOptions !== 'object' || providerOptions === null) return {};
  return { providerMetadata: plainJson(providerOptions) as JsonObject };
}
