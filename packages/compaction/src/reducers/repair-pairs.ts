import type { ContentBlock, Message } from '@x/core';
import { pairingOf } from '../groups.js';
import type { Fate, Reducer } from '../reducer.js';

/** Whether some call or result stands alone. */
export function needsRepair(messages: readonly Message[]): boolean {
  const { orphanCalls, orphanResults } = pairingOf(messages);
  return orphanCalls.size + orphanResults.size > 0;
}

/**
 * Removes tool results without a call, and calls that were never answered although the model went on: providers refuse
 * both for ever. Results are never invented. Runs before all other reducers, where it is needed.
 */
export const repairPairs: Reducer = {
  name: 'repair',
  cost: 'free',
  async reduce(view) {
    const { orphanCalls, orphanResults } = pairingOf(view.messages);
    const fates: Fate[] = [];
    const messages: Message[] = [];
    view.messages.forEach((message, index) => {
      const calls = orphanCalls.get(index);
      const results = orphanResults.get(index);
      if (!calls && !results) {
        messages.push(message);
        return;
      }
      const content = message.content.filter((block) => !isOrphan(block, calls, results));
      const empty = content.every((block) => block.type === 'thinking');
      fates.push({ messageId: message.id, fate: empty ? 'dropped' : 'pruned' });
      if (!empty) messages.push({ ...message, content });
    });
    return { messages, fates };
  },
};

function isOrphan(
  block: ContentBlock,
  calls: ReadonlySet<string> | undefined,
  results: ReadonlySet<string> | undefined,
): boolean {
  if (block.type === 'tool_use') return calls?.has(block.id) ?? false;
  return block.type === 'tool_result' && (results?.has(block.toolUseId) ?? false);
}
