import type { RecordedConversation } from '../conversation.js';
import { branchOf } from './follow-branch.js';
import { importConversation, importerFor, parse } from './import-conversation.js';

/** A log as its program would read it, and a repaired version. */
export interface LogRepair {
  readonly conversation: RecordedConversation;
  /** Messages that the program cannot reach on resume, because a later row names a missing parent. */
  readonly unreachable: number;
  /** The log without invalid and duplicate rows, and with every gap bridged; `undefined` for a format without parents. */
  readonly repaired: string | undefined;
}

/**
 * Looks for gaps in a log whose rows name their parents, as those of Claude Code, Qwen Code and pi do.
 *
 * @param source The text of a file.
 * @throws {ReplayError} as {@link importConversation}.
 */
export function repairLog(source: string, options: { readonly format?: string } = {}): LogRepair {
  const conversation = importConversation(source, options);
  const { entries } = parse(source);
  const { tree } = importerFor(source, entries, options);
  if (tree === undefined) return { conversation, unreachable: 0, repaired: undefined };
  const rowOf = (entry: unknown) => tree.rowOf(entry) ?? { isSpoken: false };
  const { followed, repeated, gaps } = branchOf(entries, rowOf);
  const lastGap = followed.findLastIndex((entry) => gaps.has(entry));
  const unreachable = followed.slice(0, Math.max(0, lastGap)).filter((entry) => rowOf(entry).isSpoken).length;
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
