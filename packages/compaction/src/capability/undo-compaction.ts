import type { AgentState, SessionLog } from '@x/core';
import { swapContext } from './swap-context.js';
import { listBefore, readUndo, storeUndo } from './undo.js';

/** What an undo works on: a session's state, and its log. */
export interface UndoScope {
  readonly state: AgentState;
  readonly log: SessionLog;
}

/**
 * Restores the exact list from before the last compaction; what was added since stays behind it. Only the last one can
 * be undone, and only once. It can be undone after a restart too, as long as the log holds the messages.
 *
 * @returns Whether it was undone. `false`, with nothing changed: when there is nothing to undo, when the conversation was
 * rewritten since by somebody else, or when the log lacks a message.
 * @throws what reading the log throws; nothing is changed then.
 */
export async function undoCompaction({ state, log }: UndoScope): Promise<boolean> {
  const record = readUndo(state);
  if (record === undefined) return false;
  const after = state.context.slice(0, record.length);
  const restored = await listBefore(record, after, log);
  if (!restored || !swapContext(state, after, restored)) return false;
  storeUndo(state, undefined);
  return true;
}
