import { isObject, type JsonObject } from '../../lib/json.js';
import type { ToolOutputBlock } from '../content-block.js';
import { madeFrom, type Part, plainJson, readOutput, readPart } from '../parts.js';
import { type Dialect, type ProviderMessage, partsOf } from './dialect.js';

const KEY = 'ai-sdk';

/** The `ModelMessage`s of the AI SDK. */
export const aiSdkDialect: Dialect = {
  key: KEY,
  parts: (source) => partsOf((source as ProviderMessage).content),
  read(part, role) {
    // In a message of the assistant a result is of a tool that the provider ran itself, at once or for an earlier answer.
    if (part.type === 'tool-result' && role !== 'assistant') {
      const { output: given = part.result } = part;
      const isTyped = isObject(given) && typeof given.type === 'string';
      const output = isTyped
        ? (given as Part)
        : { type: typeof given === 'string' ? 'text' : 'json', value: given };
      return {
        type: 'tool_result',
        toolUseId: String(part.toolCallId),
        toolName: String(part.toolName),
        output: aiSdkOutput(output),
        isError: /^(?:error|execution-denied)/.test(output.type),
        ...metadataIn(part),
      };
    }
    const block = part.providerExecuted ? undefined : readPart(part);
    return block && { ...block, ...metadataIn(part) };
  },
};

const outputs = new WeakMap<Part, readonly ToolOutputBlock[]>();

/** Reads the output of a tool as the AI SDK gives it to a model; the same objects for the same output. */
export function aiSdkOutput(output: Part): readonly ToolOutputBlock[] {
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
      return partsOf(output.value).map((part) =>
        madeFrom({ ...readOutput(part), ...metadataIn(part) }, part, KEY),
      );
    default:
      return [{ type: 'text', text: JSON.stringify(output.value) ?? '' }];
  }
}

/** `{ providerMetadata }` for a block, from the options of its part; nothing where there are none. */
function metadataIn({ providerOptions }: Part): { readonly providerMetadata?: JsonObject } {
  return isObject(providerOptions) ? { providerMetadata: plainJson(providerOptions) as JsonObject } : {};
}
