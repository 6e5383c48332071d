import { type Message, toolResultsOf, toolUsesOf } from '@x/core';

/** A stretch of messages that stays or goes as one: a tool call with all its results, or one message by itself. */
export interface Group {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** Holds a call that still waits for its result. */
  readonly open: boolean;
}

/** How the tool calls and results of a conversation belong together. The one place that knows. */
export interface Pairing {
  readonly groups: readonly Group[];
  /** Results whose call is nowhere before them: ids by message index. */
  readonly orphanResults: ReadonlyMap<number, ReadonlySet<string>>;
  /** Calls that were never answered although the model has spoken since: ids by message index. */
  readonly orphanCalls: ReadonlyMap<number, ReadonlySet<string>>;
  /** Results with another message between them and their calls: the index of the call by that of the result. */
  readonly scattered: ReadonlyMap<number, number>;
}

/**
 * Pairs every tool result with the call of its id in the model's message before it; ids may be used again later. A call
 * without a result is open as long as the model has not spoken since, and an orphan afterwards.
 */
export function pairingOf(messages: readonly Message[]): Pairing {
  const waiting = new Map<string, number>();
  const reach = new Map<number, number>();
  const orphanResults = new Map<number, Set<string>>();
  const orphanCalls = new Map<number, Set<string>>();
  const scattered = new Map<number, number>();
  let lastOther = -1;
  messages.forEach((message, index) => {
    if (message.role !== 'tool') lastOther = index;
    if (message.role === 'assistant') {
      for (const [id, call] of waiting) add(orphanCalls, call, id);
      waiting.clear();
    }
    for (const { toolUseId } of toolResultsOf(message)) {
      const call = waiting.get(toolUseId);
      if (call === undefined) add(orphanResults, index, toolUseId);
      else {
        waiting.delete(toolUseId);
        reach.set(call, index);
        if (lastOther > call) scattered.set(index, call);
      }
    }
    for (const { id } of toolUsesOf(message)) waiting.set(id, index);
  });
  const open = new Set(waiting.values());
  return { groups: toGroups(messages.length, reach, open), orphanResults, orphanCalls, scattered };
}

function toGroups(length: number, reach: ReadonlyMap<number, number>, open: ReadonlySet<number>): Group[] {
  const groups: Group[] = [];
  let start = 0;
  while (start < length) {
    let last = start;
    let isOpen = false;
    // Batches may interleave: a group ends where no call inside it reaches any further.
    for (let index = start; index <= last; index++) {
      last = Math.max(last, reach.get(index) ?? index);
      isOpen ||= open.has(index);
    }
    groups.push({ start, end: last + 1, open: isOpen });
    start = last + 1;
  }
  return groups;
}

function add(map: Map<number, Set<string>>, index: number, id: string): void {
  const ids = map.get(index);
  if (ids) ids.add(id);
  else map.set(index, new Set([id]));
}
