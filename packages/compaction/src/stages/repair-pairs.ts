import type { ContentBlock, Message } from '@x/core';
import { pairingOf } from '@x/core/messages';
import { droppedNote } from '../conversation/marks.js';
import { type Fate, type Stage, saysAnything } from '../stage.js';

/** Tests if a call or result is unpaired or separated, or has a duplicate id within its message. */
export function needsRepair(messages: readonly Message[]): boolean {
  const { orphanCalls, orphanResults, repeated, scattered } = pairingOf(messages);
  return orphanCalls.size + orphanResults.size + repeated.length + scattered.size > 0;
}

/**
 * Repairs tool calls and results that providers would reject. Removes results without a call, and calls that have no result although the
 * model continued. If a call has several results, keeps the first. Moves separated results directly after their calls. Gives calls with
 * duplicate ids, and their results, unique ids. Never invents results. If nothing else is left, adds a note, because providers also reject
 * an empty conversation. Runs before all other stages if needed.
 */
export const repairPairs: Stage = {
  name: 'repair',
  cost: 'free',
  async reduce(view, _, context) {
    const fates = new Map<string, Fate>();
    const named = rename(view.messages, fates);
    const { orphanCalls, orphanResults, scattered } = pairingOf(named);
    const dropped: Message[] = [];
    const places: { readonly index: number; readonly message: Message }[] = [];
    /** Separated results, in the order of their calls. */
    const apart: { readonly call: number; readonly message: Message }[] = [];
    named.forEach((message, index) => {
      const alone = new Set([...(orphanCalls.get(index) ?? []), ...(orphanResults.get(index) ?? [])]);
      const content = message.content.filter((block) => !alone.has(block));
      const empty = alone.size > 0 && content.every((block) => block.type === 'thinking');
      if (alone.size > 0)
        fates.set(message.id, { messageId: message.id, fate: empty ? 'dropped' : 'repaired' });
      const kept = alone.size > 0 ? { ...message, content } : message;
      const call = scattered.get(index);
      if (empty) dropped.push(message);
      else if (call === undefined) places.push({ index, message: kept });
      else apart.push({ call, message: kept });
    });

    const messages: Message[] = [];
    for (const [position, { index, message }] of places.entries()) {
      messages.push(message);
      // Inserts only after the last result of a batch.
      if (places[position + 1]?.message.role === 'tool') continue;
      const end = apart.findIndex(({ call }) => call > index);
      for (const moved of apart.splice(0, end === -1 ? apart.length : end)) messages.push(moved.message);
    }
    if (!saysAnything(messages)) {
      messages.push(droppedNote(dropped, 'because their tool calls or results are missing', context));
    }
    return { messages, fates: [...fates.values()] };
  },
};

/** Numbers duplicate ids of one message, in the call and in its result. */
function rename(messages: readonly Message[], fates: Map<string, Fate>): readonly Message[] {
  const { repeated } = pairingOf(messages);
  if (repeated.length === 0) return messages;
  const taken = new Set(messages.flatMap(({ content }) => content.flatMap(idOf)));
  const ids = new Map<ContentBlock, string>();
  for (const { call, result } of repeated) {
    let number = 2;
    while (taken.has(`${call.id}_${number}`)) number++;
    const id = `${call.id}_${number}`;
    taken.add(id);
    ids.set(call, id).set(result, id);
  }
  return messages.map((message) => {
    if (!message.content.some((block) => ids.has(block))) return message;
    fates.set(message.id, { messageId: message.id, fate: 'repaired' });
    return { ...message, content: message.content.map((block) => withId(block, ids.get(block))) };
  });
}

function idOf(block: ContentBlock): readonly string[] {
  return block.type === 'tool_use' ? [block.id] : [];
}

function withId(block: ContentBlock, id: string | undefined): ContentBlock {
  if (id === undefined) return block;
  if (block.type === 'tool_use') return { ...block, id };
  return block.type === 'tool_result' ? { ...block, toolUseId: id } : block;
}
