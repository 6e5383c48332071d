import type { ContentBlock, ToolOutputBlock } from '@x/core';
import { partsOf, readOutput, readPart } from '@x/core/messages';

/** Reads what was said: a text, or parts of any format. A part that no format has becomes its JSON. */
export function readParts(value: unknown): readonly ContentBlock[] {
  return partsOf(value).map((part) => readPart(part) ?? readOutput(part));
}

/** Reads what a tool answered: texts and files, anything else as its JSON. */
export function readOutputs(value: unknown): readonly ToolOutputBlock[] {
  return partsOf(value).map(readOutput);
}
