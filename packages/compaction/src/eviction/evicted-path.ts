import type { TextBlock, ToolResultBlock } from '@x/core';
import { isObject } from '../conversation/marks.js';

const MARK = '@x/compaction';

/** A text that says where the full text of a tool result was written, marked so that others can tell. */
export function evictedBlock(text: string, path: string): TextBlock {
  return { type: 'text', text, providerMetadata: { [MARK]: { evictedTo: path } } };
}

/** Where the full text of this result was written, if it was. */
export function evictedPath(result: ToolResultBlock): string | undefined {
  for (const { providerMetadata } of result.output) {
    const mark = providerMetadata?.[MARK];
    if (isObject(mark) && typeof mark.evictedTo === 'string') return mark.evictedTo;
  }
  return undefined;
}
