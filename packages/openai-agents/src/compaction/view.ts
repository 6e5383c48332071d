import type { ContentBlock, ItemLog, JsonObject, Message } from '@x/core';
import { itemBlocks, itemRole } from './item-blocks.js';

/** A stored item with the blocks that it is in the view. */
export interface ViewPart {
  readonly stored: Message;
  readonly item: JsonObject;
  readonly blocks: readonly ContentBlock[];
}

/** A message of the view with what it was made from. */
export interface ViewEntry {
  readonly message: Message;
  readonly parts: readonly ViewPart[];
}

/**
 * A stored history as a compactor reads it: what a model did in a row (thoughts, words, calls) is one message, so that
 * reasoning stays or goes with the calls that it led to.
 */
export function toView(history: readonly Message[], log: ItemLog): readonly ViewEntry[] {
  const turns: { first: Message; parts: ViewPart[] }[] = [];
  for (const stored of history) {
    const item = log.item(stored);
    const role = itemRole(item);
    const part = { stored, item, blocks: itemBlocks(item) };
    const last = turns.at(-1);
    if (role === 'assistant' && last?.first.role === 'assistant') last.parts.push(part);
    else turns.push({ first: { ...stored, role }, parts: [part] });
  }
  return turns.map(({ first, parts }) => ({
    message: { ...first, content: parts.flatMap(({ blocks }) => blocks) },
    parts,
  }));
}
