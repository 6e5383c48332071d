import type { Workspace } from '@x/core';

const LOCK_TIMEOUT_MS = 30_000;

/** By name, what the next task of this process waits for. */
export type Turns = Map<string, Promise<unknown>>;
const turnsOf = new WeakMap<Workspace, Turns>();

/**
 * Runs `task` alone, among all that use the workspace; where that has no lock, among those of this process.
 * `check` throws when the lock was lost; call it right before a write that would do harm then.
 *
 * @throws {WorkspaceError} `locked` when it could not be had.
 */
export async function exclusively<T>(
  workspace: Workspace,
  name: string,
  task: (check: () => Promise<void>) => Promise<T>,
  timeoutMs = LOCK_TIMEOUT_MS,
): Promise<T> {
  if (workspace.lock !== undefined) {
    return workspace.lock(name, (lock) => task(() => lock.check()), { timeoutMs });
  }
  const turns = turnsOf.get(workspace) ?? new Map();
  turnsOf.set(workspace, turns);
  return inTurn(turns, name, () => task(async () => {}));
}

/** Runs a task behind those that were asked for before under a name, whatever became of them. */
export async function inTurn<T>(turns: Turns, name: string, task: () => Promise<T>): Promise<T> {
  const result = (turns.get(name) ?? Promise.resolve()).then(task);
  const tail = result
    .catch(() => {})
    .then(() => {
      if (turns.get(name) === tail) turns.delete(name);
    });
  turns.set(name, tail);
  return result;
}

/** The lock under which MEMORY.md of a prefix is rewritten. */
export function coreLock(prefix: string): string {
  return `memory ${ownerOf(prefix)}`;
}

/** The lock under which the notes of a prefix are written. One that takes both takes this one second. */
export function noteLock(prefix: string): string {
  return `memory notes ${ownerOf(prefix)}`;
}

/** All agents of an owner have one lock: who erases the owner takes it, too. */
function ownerOf(prefix: string): string {
  return prefix.replace(/agents\/[^/]+\/$/, '');
}
