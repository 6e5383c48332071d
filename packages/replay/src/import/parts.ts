import {
  type ContentBlock,
  isObject,
  opaquePart,
  type Part,
  readOutput as readAnswered,
  readPart as readKnown,
  type ToolOutputBlock,
} from '@x/core';

/** A text as blocks; none for an empty one. */
export function text(value: unknown): readonly Extract<ContentBlock, { type: 'text' }>[] {
  return typeof value === 'string' && value !== '' ? [{ type: 'text', text: value }] : [];
}

/** A tool's answer as a text: itself, or as JSON. */
function outputText(value: unknown): readonly ToolOutputBlock[] {
  return [{ type: 'text', text: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') }];
}

/** The blocks of a part, none of an empty text; `undefined` where no format writes such a part. */
export function readPart(part: unknown): readonly ContentBlock[] | undefined {
  if (isObject(part) && part.type === 'redacted_thinking') return [opaquePart(part as Part, 'anthropic')];
  const block = readKnown(part);
  if (block?.type === 'text') return text(block.text);
  return block && [block];
}

/** What was said: a text or parts. A part that nobody knows is kept as its JSON. */
export function readParts(value: unknown): readonly ContentBlock[] {
  if (!Array.isArray(value)) return text(value);
  return value.flatMap((part: unknown) => readPart(part) ?? outputText(part));
}

/** What a tool answered: texts and files, anything else as its JSON. */
export function readOutput(value: unknown): readonly ToolOutputBlock[] {
  if (!Array.isArray(value)) return outputText(value);
  return value.map(readAnswered).filter((block) => block.type === 'file' || block.text !== '');
}

/** The texts of blocks, as instructions are kept. */
export function textsOf(blocks: readonly ContentBlock[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}
