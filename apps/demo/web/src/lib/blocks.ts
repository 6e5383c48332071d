import type { Message, ToolResultBlock } from '@x/core';
import type { CompactionRecord, Entry, Notice } from '../../../src/server/transcript.js';

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
export function blocksOf(entries: readonly Entry[], previous: readonly Block[] = []): readonly Block[] {
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
export function answersOf(entries: readonly Entry[]): ReadonlyMap<string, Answer> {
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
