import type { ContentBlock, ToolOutputBlock } from '@x/core';
import { partsOf, readOutput, readPart } from '@x/core/messages';

/** Reads the content of a message: a text, or parts of any format. An unknown part becomes a text with its JSON. */
export function readParts(value: unknown): readonly ContentBlock[] {
  return partsOf(value).map((part) => readPart(part) ?? readOutput(part));
}

/** Reads the output of a tool: texts and files. Anything else becomes a text with its JSON. */
export function readOutputs(value: unknown): readonly ToolOutputBlock[] {
  return partsOf(value).map(readOutput);
}
