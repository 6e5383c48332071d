import { type ContentBlock, type Message, pairingOf, toolResultsOf, toolUsesOf } from '@x/core';
import { droppedNote } from '../conversation/marks.js';
import { type Fate, type Reducer, saysAnything } from '../reducer.js';

/** Tells whether some call or result stands alone or apart, or shares its id with another of its message. */
export function needsRepair(messages: readonly Message[]): boolean {
  const { orphanCalls, orphanResults, repeated, scattered } = pairingOf(messages);
  return orphanCalls.size + orphanResults.size + repeated.length + scattered.size > 0;
}

/**
 * Removes tool results without a call, and calls that were never answered although the model went on. Of several results
 * for one call the first stays. Puts results that stand apart right behind their calls. Gives each of several calls with
 * one id, and its result, an id of its own. Providers refuse each of these for ever. Results are never invented. Where
 * nothing else is left, a note says so: no provider takes a conversation of no messages either. Runs before all other
 * reducers, where it is needed.
 */
export const repairPairs: Reducer = {
  name: 'repair',
  cost: 'free',
  async reduce(view, _, { logLocation }) {
    const fates = new Map<string, Fate>();
    const named = rename(view.messages, fates);
    const { orphanCalls, orphanResults, scattered } = pairingOf(named);
    let pairs: ReturnType<typeof countPairs> | undefined;
    const dropped: Message[] = [];
    const places: { readonly index: number; readonly message: Message }[] = [];
    /** Results that stood apart, by their call. Calls come in order: a result belongs to the last message with calls. */
    const apart = new Map<number, Message[]>();
    named.forEach((message, index) => {
      const calls = orphanCalls.get(index);
      const results = orphanResults.get(index);
      let kept = message;
      if (calls || results) {
        pairs ??= countPairs(named);
        const left = new Map(pairs.get(index));
        const content = message.content.filter(
          (block) => !isOrphan(block, calls, results) || takeOne(left, pairKey(block)),
        );
        const empty = content.every((block) => block.type === 'thinking');
        fates.set(message.id, { messageId: message.id, fate: empty ? 'dropped' : 'repaired' });
        if (empty) {
          dropped.push(message);
          return;
        }
        kept = { ...message, content };
      }
      const call = scattered.get(index);
      if (call === undefined) places.push({ index, message: kept });
      else {
        const moved = apart.get(call);
        if (moved) moved.push(kept);
        else apart.set(call, [kept]);
      }
    });

    const messages: Message[] = [];
    const waiting = [...apart];
    let next = 0;
    for (const [position, { index, message }] of places.entries()) {
      messages.push(message);
      // Behind the last of a batch's results.
      if (places[position + 1]?.message.role === 'tool') continue;
      for (; next < waiting.length && (waiting[next] as [number, Message[]])[0] <= index; next++) {
        for (const moved of (waiting[next] as [number, Message[]])[1]) messages.push(moved);
      }
    }
    if (!saysAnything(messages)) {
      messages.push(droppedNote(dropped, 'because their tool calls or results are missing', logLocation));
    }
    return { messages, fates: [...fates.values()] };
  },
};

/** Gives repeated ids of one message a number, in the call and in its result. */
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

/** Counts the calls and results that have each other, by message and by {@link pairKey}. Of one id the first pair up. */
function countPairs(messages: readonly Message[]): ReadonlyMap<number, ReadonlyMap<string, number>> {
  const pairs = new Map<number, Map<string, number>>();
  const count = (index: number, key: string) => {
    const ofMessage = pairs.get(index) ?? new Map<string, number>();
    pairs.set(index, ofMessage.set(key, (ofMessage.get(key) ?? 0) + 1));
  };
  let waiting = new Map<string, number>();
  let batch = 0;
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') waiting = new Map();
    for (const { toolUseId } of toolResultsOf(message)) {
      if (!takeOne(waiting, toolUseId)) continue;
      count(index, `result ${toolUseId}`);
      count(batch, `call ${toolUseId}`);
    }
    for (const { id } of toolUsesOf(message)) {
      waiting.set(id, (waiting.get(id) ?? 0) + 1);
      batch = index;
    }
  }
  return pairs;
}

function pairKey(block: ContentBlock): string | undefined {
  if (block.type === 'tool_use') return `call ${block.id}`;
  return block.type === 'tool_result' ? `result ${block.toolUseId}` : undefined;
}

/** Takes one from a count; `false` when none is left. */
function takeOne(counts: Map<string, number>, key: string | undefined): boolean {
  const left = key === undefined ? 0 : (counts.get(key) ?? 0);
  if (key === undefined || left === 0) return false;
  counts.set(key, left - 1);
  return true;
}

function isOrphan(
  block: ContentBlock,
  calls: ReadonlySet<string> | undefined,
  results: ReadonlySet<string> | undefined,
): boolean {
  if (block.type === 'tool_use') return calls?.has(block.id) ?? false;
  const answered = block.type === 'tool_result' ? block.toolUseId : undefined;
  const provided = block.type === 'opaque' && block.half === 'result' ? block.callId : undefined;
  return results?.has(answered ?? provided ?? '') ?? false;
}
