import { isObject, type JsonObject } from '../../lib/json.js';
import { memoize } from '../../lib/memoize.js';
import type { ToolOutputBlock } from '../content-block.js';
import { madeFrom, type Part, plainJson, readOutput, readPart } from '../parts.js';
import { type Dialect, type ProviderMessage, partsOf } from './dialect.js';

const KEY = 'ai-sdk';

/** The `ModelMessage`s of the AI SDK, and the parts of its models' answers. */
export const aiSdkDialect: Dialect = {
  key: KEY,
  parts: (source) => partsOf((source as ProviderMessage).content),
  read(part, role) {
    // In an assistant message, a result belongs to a tool that the provider ran, for this or an earlier answer.
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
    if (block === undefined) return undefined;
    const about = metadataIn(part);
    const signature = block.type === 'thinking' ? signatureIn(about.providerMetadata) : undefined;
    return { ...block, ...(signature === undefined ? {} : { signature }), ...about };
  },
};

function signatureIn(metadata: JsonObject = {}): string | undefined {
  const signatures = Object.values(metadata).map((data) => (isObject(data) ? data.signature : undefined));
  return signatures.find((signature) => typeof signature === 'string');
}

/** Reads a tool output in the form that the AI SDK sends to a model. Returns the same objects for the same output. */
export const aiSdkOutput = memoize((output: Part): readonly ToolOutputBlock[] => {
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
});

/**
 * Returns `{ providerMetadata }` for a block: the data that a provider attached to a part of an answer, or that is sent with a part of a
 * prompt.
 */
function metadataIn({ providerMetadata, providerOptions = providerMetadata }: Part): {
  readonly providerMetadata?: JsonObject;
} {
  return isObject(providerOptions) ? { providerMetadata: plainJson(providerOptions) as JsonObject } : {};
}
