import type { ContentBlock, ToolResultBlock, ToolUseBlock } from './content-block.js';
import { type Message, toolUsesOf } from './message.js';

/** Messages that must be kept or removed together: a tool call with all its results, or a single message. */
export interface MessageGroup {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** Contains a call without a result. */
  readonly open: boolean;
}

/** The pairing of a conversation's tool calls and results. */
interface Pairing {
  readonly groups: readonly MessageGroup[];
  /** Calls that still wait for their results, in the model's order, by message index. */
  readonly open: ReadonlyMap<number, readonly ToolUseBlock[]>;
  /** Results without an earlier call, by message index. */
  readonly orphanResults: ReadonlyMap<number, ReadonlySet<ContentBlock>>;
  /** Calls without a result although the model has answered since, by message index. */
  readonly orphanCalls: ReadonlyMap<number, ReadonlySet<ContentBlock>>;
  /** Calls with the same id as an earlier call of their message, each with its result. */
  readonly repeated: readonly RepeatedPair[];
  /** Results that another message separates from their calls: maps the index of the result to that of the call. */
  readonly scattered: ReadonlyMap<number, number>;
}

/** A call and its result whose id occurs twice in the same message. */
export interface RepeatedPair {
  readonly call: ToolUseBlock;
  readonly result: ToolResultBlock;
}

/** The calls with one id in one message. */
interface Calls {
  readonly index: number;
  readonly blocks: ToolUseBlock[];
  answered: number;
}

/**
 * Pairs every tool result with the call of the same id in the last preceding message of the model. Ids may be reused later. A call without
 * a result is open until the model or the user continues, and an orphan after that. Calls that the provider ran itself are paired the same
 * way, but their results may come in any later answer.
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
    // No provider accepts a user message after a call without a result.
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
    // Computed on demand, because many callers only need the faults.
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
    // Batches may interleave: a group ends where no call in it has a later result.
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
