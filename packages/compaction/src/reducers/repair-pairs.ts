import type { ContentBlock, Message } from '@x/core';
import { pairingOf } from '@x/core';
import { droppedNote } from '../conversation/marks.js';
import { type Fate, type Reducer, saysAnything } from '../reducer.js';

/** Whether some call or result stands alone or apart. */
export function needsRepair(messages: readonly Message[]): boolean {
  const { orphanCalls, orphanResults, scattered } = pairingOf(messages);
  return orphanCalls.size + orphanResults.size + scattered.size > 0;
}

/**
 * Removes tool results without a call, and calls that were never answered although the model went on; puts results that
 * stand apart right behind their calls. Providers refuse each of these for ever. Results are never invented. Where
 * nothing else is left, a note says so: no provider takes a conversation of no messages either. Runs before all other
 * reducers, where it is needed.
 */
export const repairPairs: Reducer = {
  name: 'repair',
  cost: 'free',
  async reduce(view, _, { logLocation }) {
    const { orphanCalls, orphanResults, scattered } = pairingOf(view.messages);
    const fates: Fate[] = [];
    const behind = new Map<number, Message[]>();
    const dropped: Message[] = [];
    const places: { readonly index: number; readonly message: Message }[] = [];
    view.messages.forEach((message, index) => {
      const calls = orphanCalls.get(index);
      const results = orphanResults.get(index);
      let kept = message;
      if (calls || results) {
        const content = message.content.filter((block) => !isOrphan(block, calls, results));
        const empty = content.every((block) => block.type === 'thinking');
        fates.push({ messageId: message.id, fate: empty ? 'dropped' : 'repaired' });
        if (empty) {
          dropped.push(message);
          return;
        }
        kept = { ...message, content };
      }
      const call = scattered.get(index);
      if (call === undefined) places.push({ index, message: kept });
      else behind.set(call, [...(behind.get(call) ?? []), kept]);
    });
    const messages = places.flatMap((place, position) => follow(place, places[position + 1], behind));
    return {
      messages: saysAnything(messages) ? messages : [...messages, noteOf(dropped, logLocation)],
      fates,
    };
  },
};

function noteOf(dropped: readonly Message[], logLocation: string | undefined): Message {
  return droppedNote(dropped, 'because their tool calls or results are missing', logLocation);
}

/** A message, and behind the last of a batch's results those that stood apart. */
function follow(
  place: { readonly index: number; readonly message: Message },
  next: { readonly message: Message } | undefined,
  behind: Map<number, Message[]>,
): readonly Message[] {
  const moved: Message[] = [];
  if (next?.message.role !== 'tool') {
    for (const [call, results] of behind) {
      if (call > place.index) continue;
      moved.push(...results);
      behind.delete(call);
    }
  }
  return [place.message, ...moved];
}

function isOrphan(
  block: ContentBlock,
  calls: ReadonlySet<string> | undefined,
  results: ReadonlySet<string> | undefined,
): boolean {
  if (block.type === 'tool_use') return calls?.has(block.id) ?? false;
  return block.type === 'tool_result' && (results?.has(block.toolUseId) ?? false);
}
