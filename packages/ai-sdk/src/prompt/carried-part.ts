import { isObject, type JsonObject, type JsonValue, type OpaqueBlock, parseInput } from '@x/core';
import { type CarriedPart, optionsOf } from './prompt.js';

/**
 * A provider's own part as it goes back to that provider: its metadata as options, and what an answer and a prompt
 * write differently (a call's input, a result, a URL) in the prompt's way. `undefined` for what is not sent back:
 * sources, citations and requests for approval are for the application alone.
 */
export function carriedPart(block: OpaqueBlock): CarriedPart | undefined {
  const { data } = block;
  if (!isObject(data)) return undefined;
  const { type, providerMetadata, ...rest } = data;
  const metadata = block.providerMetadata ?? (isObject(providerMetadata) ? providerMetadata : undefined);
  switch (type) {
    case 'custom':
    case 'text':
    case 'tool-approval-response':
      return { type, ...rest, ...optionsOf(metadata) };
    case 'tool-call': {
      const { toolCallId, toolName, input, providerExecuted } = rest;
      const parsed = parseInput(input);
      return { type, toolCallId, toolName, input: parsed, providerExecuted, ...optionsOf(metadata) };
    }
    case 'tool-result': {
      const { toolCallId, toolName, result = null, isError } = rest;
      return {
        type,
        toolCallId,
        toolName,
        output: outputOf(result, isError === true),
        ...optionsOf(metadata),
      };
    }
    case 'reasoning-file':
      return { type, ...rest, data: fileDataOf(rest.data), ...optionsOf(metadata) };
    default:
      return undefined;
  }
}

function outputOf(result: JsonValue, isError: boolean): JsonObject {
  if (isError) return { type: 'error-json', value: result };
  return { type: typeof result === 'string' ? 'text' : 'json', value: result };
}

/** JSON keeps a URL as text; a prompt wants the object. */
function fileDataOf(data: JsonValue | undefined): unknown {
  return isObject(data) && data.type === 'url' && typeof data.url === 'string'
    ? { ...data, url: new URL(data.url) }
    : data;
}
