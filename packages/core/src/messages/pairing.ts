import type { ContentBlock, ToolResultBlock, ToolUseBlock } from './content-block.js';
import { type Message, toolUsesOf } from './message.js';

/** Messages that stay or go together: a tool call with all its results, or a single message. */
export interface MessageGroup {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** Holds a call that still waits for its result. */
  readonly open: boolean;
}

/** The pairing of a conversation's tool calls and results. */
interface Pairing {
  readonly groups: readonly MessageGroup[];
  /** Calls that still wait for their results, in the model's order, by message index. */
  readonly open: ReadonlyMap<number, readonly ToolUseBlock[]>;
  /** Results whose call is nowhere before them, by message index. */
  readonly orphanResults: ReadonlyMap<number, ReadonlySet<ContentBlock>>;
  /** Calls that were never answered although the model has spoken since, by message index. */
  readonly orphanCalls: ReadonlyMap<number, ReadonlySet<ContentBlock>>;
  /** Calls that share their id with an earlier call of their message, each with its result. */
  readonly repeated: readonly RepeatedPair[];
  /** Results with another message between them and their calls: the index of the call by that of the result. */
  readonly scattered: ReadonlyMap<number, number>;
}

/** A call and its result whose id another pair of the same message has too. */
export interface RepeatedPair {
  readonly call: ToolUseBlock;
  readonly result: ToolResultBlock;
}

/** The calls of one id in one message. */
interface Calls {
  readonly index: number;
  readonly blocks: ToolUseBlock[];
  answered: number;
}

/**
 * Pairs every tool result with the call of its id in the model's message before it; ids may be used again later. A call
 * without a result is open until the model or the user speaks again, and an orphan from then on. Calls that the provider ran
 * itself are paired the same way, except that their results may come in any later answer.
 */
export function pairingOf(messages: readonly Message[]): Pairing {
  // Long because it is one pass over the conversation, which runs at every step.
  let waiting = new Map<string, Calls>();
  /** The last message that belongs to each message, by index. */
  const reach = Int32Array.from(messages.keys());
  const orphanResults = new Map<number, Set<ContentBlock>>();
  const orphanCalls = new Map<number, Set<ContentBlock>>();
  const scattered = new Map<number, number>();
  const repeated: RepeatedPair[] = [];
  const provided = new Map<string, number>();
  let lastOther = -1;
  let lastRequest = -1;
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Message;
    if (message.role !== 'tool') lastOther = index;
    if (message.role === 'user' && message.kind === undefined) lastRequest = index;
    if (message.role === 'assistant' && waiting.size > 0) {
      for (const calls of waiting.values()) add(orphanCalls, calls.index, unansweredOf(calls));
      waiting = new Map();
    }
    for (const block of message.content) {
      if (block.type === 'opaque' && block.callId !== undefined && block.half !== undefined) {
        if (block.half === 'call') provided.set(block.callId, index);
        const call = provided.get(block.callId);
        if (call === undefined) add(orphanResults, index, [block]);
        else reach[call] = Math.max(reach[call] as number, index);
      }
      if (block.type !== 'tool_result') continue;
      const calls = waiting.get(block.toolUseId);
      const call = calls?.blocks[calls.answered];
      if (calls === undefined || call === undefined) add(orphanResults, index, [block]);
      else {
        calls.answered++;
        if (calls.answered > 1) repeated.push({ call, result: block });
        reach[calls.index] = Math.max(reach[calls.index] as number, index);
        if (lastOther > calls.index) scattered.set(index, calls.index);
      }
    }
    for (const block of message.content) {
      if (block.type !== 'tool_use') continue;
      const calls = waiting.get(block.id);
      if (calls?.index === index) calls.blocks.push(block);
      else waiting.set(block.id, { index, blocks: [block], answered: 0 });
    }
  }
  const unanswered = new Map<number, Set<ToolUseBlock>>();
  for (const calls of waiting.values()) {
    // No provider takes a user's message behind a call without its result.
    if (calls.index < lastRequest) add(orphanCalls, calls.index, unansweredOf(calls));
    else add(unanswered, calls.index, unansweredOf(calls));
  }
  const open = new Map<number, readonly ToolUseBlock[]>();
  for (const [index, calls] of unanswered) {
    open.set(
      index,
      toolUsesOf(messages[index] as Message).filter((call) => calls.has(call)),
    );
  }
  let groups: readonly MessageGroup[] | undefined;
  return {
    // Many only ask what is amiss.
    get groups() {
      groups ??= toGroups(reach, open);
      return groups;
    },
    open,
    orphanResults,
    orphanCalls,
    repeated,
    scattered,
  };
}

function unansweredOf({ blocks, answered }: Calls): readonly ToolUseBlock[] {
  return blocks.slice(answered);
}

function toGroups(reach: Int32Array, open: Pairing['open']): MessageGroup[] {
  const groups: MessageGroup[] = [];
  let start = 0;
  while (start < reach.length) {
    let last = start;
    let hasOpen = false;
    // Batches may interleave: a group ends where no call inside it reaches any further.
    for (let index = start; index <= last; index++) {
      last = Math.max(last, reach[index] as number);
      hasOpen ||= open.has(index);
    }
    groups.push({ start, end: last + 1, open: hasOpen });
    start = last + 1;
  }
  return groups;
}

function add<Item>(map: Map<number, Set<Item>>, index: number, items: readonly Item[]): void {
  if (items.length === 0) return;
  const known = map.get(index) ?? new Set();
  for (const item of items) known.add(item);
  map.set(index, known);
}
