import type { Workspace } from '@x/core';
import { CORE_FILE, readIfFound } from '../memory-files.js';
import {
  type ConsolidationState,
  hashOf,
  type NotePositions,
  readState,
  writeState,
} from './consolidation-state.js';
import { dropOldVersions, keepVersion } from './versions.js';

/** MEMORY.md as it was read; `undefined` where there was none. */
export type MemoryText = string | undefined;

export interface Replacement {
  /** What MEMORY.md is thought to be. */
  readonly before: MemoryText;
  readonly after: string;
  /** Where the notes stand once it is replaced. */
  readonly notes: NotePositions;
  readonly at: string;
  readonly keepVersions: number;
  /** Throws when the lock was lost. */
  readonly check: () => Promise<void>;
}

export async function readMemory(workspace: Workspace, prefix: string): Promise<MemoryText> {
  return readIfFound(workspace, `${prefix}${CORE_FILE}`);
}

/**
 * The state of a scope, after finishing what a process that died was about to write: if MEMORY.md was replaced already, it
 * only has to be noted; if not, it is as if nothing had happened. To be called under the lock.
 */
export async function settledState(workspace: Workspace, prefix: string): Promise<ConsolidationState> {
  const { pending, ...state } = await readState(workspace, prefix);
  if (pending === undefined) return state;
  const text = (await readMemory(workspace, prefix)) ?? '';
  // Somebody may have added to it since.
  const isWritten = hashOf(text) !== pending.before && hashOf(text.slice(0, pending.length)) === pending.hash;
  const settled = isWritten ? { ...state, refusals: 0, notes: pending.notes } : state;
  await writeState(workspace, prefix, settled);
  return settled;
}

/**
 * Replaces MEMORY.md, unless it is not what it is thought to be; then nothing is changed. The text that goes is kept as a
 * version. To be called under the lock, with a settled state.
 */
export async function replaceMemory(
  workspace: Workspace,
  prefix: string,
  state: ConsolidationState,
  { before, after, notes, at, keepVersions, check }: Replacement,
): Promise<boolean> {
  if ((await readMemory(workspace, prefix)) !== before) return false;
  const done: ConsolidationState = { version: 1, consolidatedAt: at, refusals: 0, notes };
  if (after !== (before ?? '')) {
    if (before !== undefined) await keepVersion(workspace, prefix, { text: before, notes: state.notes, at });
    const pending = { before: hashOf(before ?? ''), length: after.length, hash: hashOf(after), notes };
    await writeState(workspace, prefix, { ...state, consolidatedAt: at, pending });
    await check();
    // A person needs no lock to edit the file: look once more, as late as possible.
    if ((await readMemory(workspace, prefix)) !== before) {
      await writeState(workspace, prefix, state);
      return false;
    }
    await workspace.write(`${prefix}${CORE_FILE}`, after);
  }
  await writeState(workspace, prefix, done);
  await dropOldVersions(workspace, prefix, keepVersions);
  return true;
}
