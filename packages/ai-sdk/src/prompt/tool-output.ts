import type { FileBlock, ToolResultBlock } from '@x/core';
import { type SendableSource, toolFilePart } from './file-part.js';
import { optionsOf, type TextPart, type ToolOutput, type ToolOutputPart } from './prompt.js';
import { providerOutput } from './provider-output.js';
import type { PromptTarget } from './target.js';

/** Says of an answer in several parts what the prompt has no other word for. */
const FAILED: TextPart = { type: 'text', text: 'The tool failed.' };

/**
 * A tool's answer: text as text, which every provider understands, and parts only where there are files or metadata to
 * keep, since some providers show the model such parts as JSON.
 */
export function toolOutput(
  result: ToolResultBlock,
  target: PromptTarget,
  sourceOf: (file: FileBlock) => SendableSource,
): ToolOutput {
  const own = providerOutput(result, target.providerTools?.get(result.toolName));
  if (own !== undefined) return own;
  const { output, isError } = result;
  const type = isError ? 'error-text' : 'text';
  const keepsMetadata = target.specificationVersion !== 'v2';
  const [first, ...others] = output;
  if (first?.type === 'text' && others.length === 0) {
    return { type, value: first.text, ...(keepsMetadata ? optionsOf(first.providerMetadata) : {}) };
  }
  const texts = output.filter((part) => part.type === 'text');
  const plain = texts.every((part) => !keepsMetadata || part.providerMetadata === undefined);
  if (texts.length === output.length && plain)
    return { type, value: texts.map((part) => part.text).join('\n') };
  const parts = output.map((part): ToolOutputPart => {
    if (part.type === 'file') return toolFilePart(part, sourceOf(part), target);
    return { type: 'text', text: part.text, ...(keepsMetadata ? optionsOf(part.providerMetadata) : {}) };
  });
  return { type: 'content', value: isError ? [FAILED, ...parts] : parts };
}
