import { computed, signal } from '@preact/signals';
import type { Message, ToolResultBlock, ToolUseBlock } from '@x/core';
import { textOf } from '../../../src/server/message-text.js';
import type { CompactionRecord, Entry, Notice } from '../../../src/server/transcript.js';
import { call, compacting, entries, sessionId } from './session.js';

/** What is drawn as one: what the user said, what the agent did then, a compaction, a notice. */
export type Block =
  | { readonly type: 'user'; readonly id: string; readonly message: Message }
  | { readonly type: 'agent'; readonly id: string; readonly messages: readonly Message[] }
  | { readonly type: 'compaction'; readonly id: string; readonly compaction: CompactionRecord }
  | { readonly type: 'notice'; readonly id: string; readonly notice: Notice };

/** A tool's answer, and the message that holds it. */
export interface Answer {
  readonly messageId: string;
  readonly result: ToolResultBlock;
}

/**
 * Groups entries for drawing. Tool results are drawn with their calls: see {@link answersOf}. Blocks that are as they were
 * in `previous` are taken from there, so that they are not drawn again.
 */
function blocksOf(entries: readonly Entry[], previous: readonly Block[] = []): readonly Block[] {
  const blocks: Block[] = [];
  for (const entry of entries) {
    if (entry.type !== 'message') {
      blocks.push(entry);
      continue;
    }
    const { message } = entry;
    if (message.role === 'user') blocks.push({ type: 'user', id: entry.id, message });
    if (message.role !== 'assistant') continue;
    const last = blocks.at(-1);
    if (last?.type === 'agent')
      blocks[blocks.length - 1] = { ...last, messages: [...last.messages, message] };
    else blocks.push({ type: 'agent', id: entry.id, messages: [message] });
  }
  return blocks.map((block, index) => {
    const before = previous[index];
    return before && isSame(block, before) ? before : block;
  });
}

function isSame(left: Block, right: Block): boolean {
  if (left.type === 'agent' && right.type === 'agent') {
    // Messages are only ever added at the end.
    return left.id === right.id && left.messages.length === right.messages.length;
  }
  if (left.type === 'compaction' && right.type === 'compaction') return left.compaction === right.compaction;
  return left.type === right.type && left.id === right.id;
}

const known = new WeakMap<Message, readonly Answer[]>();

/** Tool results by the id of the call. */
function answersOf(entries: readonly Entry[]): ReadonlyMap<string, Answer> {
  const answers = new Map<string, Answer>();
  for (const entry of entries) {
    if (entry.type !== 'message' || entry.message.role !== 'tool') continue;
    let held = known.get(entry.message);
    if (held === undefined) {
      held = entry.message.content.flatMap((block) =>
        block.type === 'tool_result' ? [{ messageId: entry.id, result: block }] : [],
      );
      known.set(entry.message, held);
    }
    for (const answer of held) answers.set(answer.result.toolUseId, answer);
  }
  return answers;
}

let drawn: readonly Block[] = [];

/** The conversation as blocks; one that did not change stays the same object. */
export const blocks = computed(() => {
  drawn = blocksOf(entries.value, drawn);
  return drawn;
});

/** Messages that are drawn at first, the latest: of thousands one looks at few. */
const DRAWN = 400;
/** The session that is drawn whole. */
const drawnWhole = signal<string>();

/** The first block of the latest messages. */
export function latestFrom(blocks: readonly Block[]): number {
  let messages = 0;
  const cut = blocks.findLastIndex((block) => {
    messages += block.type === 'agent' ? block.messages.length : 1;
    return messages > DRAWN;
  });
  return Math.min(cut + 1, Math.max(0, blocks.length - 1));
}

/** Whether the open session is drawn from its first message on. */
export const isDrawnWhole = computed(() => drawnWhole.value === sessionId.value);

export function drawWhole(): void {
  drawnWhole.value = sessionId.peek();
}

/** The messages of each whole reply, by the id of its last turn: compactions and notices stand within a reply. */
export const wholeReplies = computed(() => {
  const found = new Map<string, readonly string[]>();
  let reply: { readonly turn: string; readonly ids: readonly string[] } | undefined;
  for (const block of blocks.value) {
    if (block.type === 'user' && block.message.kind === undefined) reply = undefined;
    if (block.type !== 'agent') continue;
    if (reply) found.delete(reply.turn);
    reply = { turn: block.id, ids: [...(reply?.ids ?? []), ...block.messages.map(({ id }) => id)] };
    found.set(reply.turn, reply.ids);
  }
  return found;
});

/** Whether something is being written or done right now. */
const live = computed(() => call.value !== undefined || compacting.value !== undefined);

/** The turn in which it is: the last one, or `undefined` when a new one begins. */
export const liveTurnId = computed(() => {
  const last = blocks.value.at(-1);
  return live.value && last?.type === 'agent' ? last.id : undefined;
});

/** Whether a turn begins that has no message yet. */
export const liveTurnBegins = computed(() => live.value && liveTurnId.value === undefined);

/** Tool results by the id of their call. */
export const answers = computed(() => answersOf(entries.value));

const compactions = computed(() =>
  entries.value.flatMap((entry) => (entry.type === 'compaction' ? [entry.compaction] : [])),
);

/** The last compaction, whatever its outcome. */
export const lastCompaction = computed<CompactionRecord | undefined>(() => compactions.value.at(-1));

/** The last one that changed what the model sees. */
export const lastApplied = computed<CompactionRecord | undefined>(() =>
  compactions.value.findLast(({ status, undone }) => status === 'applied' && !undone),
);

/** What the user said last; empty before. */
export const lastQuestion = computed(() => {
  const entry = entries.value.findLast(
    (candidate) =>
      candidate.type === 'message' && candidate.message.role === 'user' && !candidate.message.kind,
  );
  return entry?.type === 'message' ? textOf(entry.message) : '';
});

/** The messages of the log by id. */
export const messagesById = computed(() => {
  const messages = new Map<string, Message>();
  for (const entry of entries.value) if (entry.type === 'message') messages.set(entry.id, entry.message);
  return messages;
});

/** The tool calls of the log by id. */
export const toolCalls = computed(() => {
  const calls = new Map<string, ToolUseBlock>();
  for (const message of messagesById.value.values()) {
    for (const block of message.content) if (block.type === 'tool_use') calls.set(block.id, block);
  }
  return calls;
});
