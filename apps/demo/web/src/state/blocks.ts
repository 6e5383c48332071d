import { computed, signal } from '@preact/signals';
import type { Message, ToolResultBlock, ToolUseBlock } from '@x/core';
import { textOf } from '../../../src/page.js';
import { call, compacting, entries, sessionId } from './session.js';
import { type Entry, isStanding } from './transcript.js';

/** One thing that is drawn: what the user said, what the agent did then, a compaction, a notice. */
export type Block =
  | { readonly type: 'user'; readonly id: string; readonly message: Message }
  | { readonly type: 'agent'; readonly id: string; readonly messages: readonly Message[] }
  | Exclude<Entry, { readonly type: 'message' }>;

/** Groups entries. Tool results are drawn with their calls. */
function blocksOf(entries: readonly Entry[]): readonly Block[] {
  const blocks: Block[] = [];
  for (const entry of entries) {
    if (entry.type !== 'message') {
      blocks.push(entry);
      continue;
    }
    const { id, message } = entry;
    const last = blocks.at(-1);
    if (message.role === 'user') blocks.push({ type: 'user', id, message });
    if (message.role !== 'assistant') continue;
    if (last?.type === 'agent')
      blocks[blocks.length - 1] = { ...last, messages: [...last.messages, message] };
    else blocks.push({ type: 'agent', id, messages: [message] });
  }
  return blocks;
}

function isSame(left: Block, right: Block): boolean {
  if (left.id !== right.id) return false;
  // Messages are only ever added at the end.
  if (left.type === 'agent') return right.type === 'agent' && left.messages.length === right.messages.length;
  if (left.type !== 'compaction' || right.type !== 'compaction') return true;
  return (
    left.compaction.undone === right.compaction.undone && left.compaction.usage === right.compaction.usage
  );
}

let drawn: readonly Block[] = [];

/** The conversation as blocks. A block that did not change stays the same object, and is not drawn again. */
export const blocks = computed(() => {
  drawn = blocksOf(entries.value).map((block, index) => {
    const before = drawn[index];
    return before && isSame(block, before) ? before : block;
  });
  return drawn;
});

/** Messages that are drawn at first, the latest ones. */
const DRAWN = 400;
/** The session that is drawn whole. */
const drawnWhole = signal<string>();
export const isDrawnWhole = computed(() => drawnWhole.value === sessionId.value);

export function drawWhole(): void {
  drawnWhole.value = sessionId.peek();
}

/** The index of the first block to draw. */
export function latestFrom(blocks: readonly Block[]): number {
  let messages = 0;
  const cut = blocks.findLastIndex((block) => {
    messages += block.type === 'agent' ? block.messages.length : 1;
    return messages > DRAWN;
  });
  return Math.min(cut + 1, Math.max(0, blocks.length - 1));
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

const live = computed(() => call.value !== undefined || compacting.value !== undefined);
/** The turn that is being written: the last one, or `undefined` when a new one begins. */
export const liveTurnId = computed(() => {
  const last = blocks.value.at(-1);
  return live.value && last?.type === 'agent' ? last.id : undefined;
});
/** Whether a turn begins that has no message yet. */
export const liveTurnBegins = computed(() => live.value && liveTurnId.value === undefined);

const compactions = computed(() =>
  entries.value.flatMap((entry) => (entry.type === 'compaction' ? [entry.compaction] : [])),
);
/** The last compaction, whatever its outcome. */
export const lastCompaction = computed(() => compactions.value.at(-1));
/** The compactions that changed what the model sees. */
export const standing = computed(() => compactions.value.filter(isStanding));
export const lastApplied = computed(() => standing.value.at(-1));

/** The messages of the log by id. */
export const messagesById = computed(
  () =>
    new Map(entries.value.flatMap((entry) => (entry.type === 'message' ? [[entry.id, entry.message]] : []))),
);

/** A tool's answer, and the message that holds it. */
export interface Answer {
  readonly messageId: string;
  readonly result: ToolResultBlock;
}

/** Tool results by the id of their call. */
export const answers = computed(() => {
  const found = new Map<string, Answer>();
  for (const [messageId, { content }] of messagesById.value)
    for (const block of content)
      if (block.type === 'tool_result') found.set(block.toolUseId, { messageId, result: block });
  return found;
});

/** The tool calls of the log by id. */
export const toolCalls = computed(() => {
  const calls = new Map<string, ToolUseBlock>();
  for (const { content } of messagesById.value.values())
    for (const block of content) if (block.type === 'tool_use') calls.set(block.id, block);
  return calls;
});

/** What the user said last; empty before. */
export const lastQuestion = computed(() => {
  const said = blocks.value.findLast((block) => block.type === 'user' && !block.message.kind);
  return said?.type === 'user' ? textOf(said.message) : '';
});
