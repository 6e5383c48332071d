import type { RecordedConversation } from '../conversation.js';
import { branchOf } from './follow-branch.js';
import { importConversation, importerFor, parse } from './import-conversation.js';

/** The conversation in a log, what its program would lose, and a repaired log. */
export interface LogRepair {
  readonly conversation: RecordedConversation;
  /** Number of messages that the program loses when it resumes, because the parent of a later row is missing. */
  readonly unreachable: number;
  /** The log without invalid and duplicate rows, where every row has an existing parent. `undefined` if the format has no parent ids. */
  readonly repaired: string | undefined;
}

/**
 * Repairs a log whose rows have parent ids, for example of Claude Code, Qwen Code or pi.
 *
 * @param source The text of a file.
 * @throws {ReplayError} for the same reasons as {@link importConversation}.
 */
export function repairLog(source: string, options: { readonly format?: string } = {}): LogRepair {
  const conversation = importConversation(source, options);
  const { entries } = parse(source);
  const { tree } = importerFor(source, entries, options);
  if (tree === undefined) return { conversation, unreachable: 0, repaired: undefined };
  const rowOf = (entry: unknown) => tree.rowOf(entry) ?? { isMessage: false };
  const { followed, repeated, gaps } = branchOf(entries, rowOf);
  const lastGap = followed.findLastIndex((entry) => gaps.has(entry));
  const unreachable = followed.slice(0, Math.max(0, lastGap)).filter((row) => rowOf(row).isMessage).length;
  const copies = new Set(repeated);
  const lines = entries
    .filter((entry) => !copies.has(entry))
    .map((entry) => {
      const before = gaps.get(entry);
      const parent = before === undefined ? null : (rowOf(before).id ?? null);
      return JSON.stringify(gaps.has(entry) ? { ...(entry as object), [tree.parent]: parent } : entry);
    });
  return { conversation, unreachable, repaired: `${lines.join('\n')}\n` };
}
