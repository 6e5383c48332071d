import type { Workspace } from '@x/core';

const LOCK_TIMEOUT_MS = 30_000;

/** By workspace and name, what the next task of this process waits for. */
const tails = new WeakMap<Workspace, Map<string, Promise<unknown>>>();

/**
 * Runs `task` alone: among all that use the workspace where it can exclude others, else among the tasks of this process.
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
  const names = tails.get(workspace) ?? new Map<string, Promise<unknown>>();
  tails.set(workspace, names);
  const before = names.get(name) ?? Promise.resolve();
  const result = before.then(() => task(async () => {}));
  const tail = result
    .catch(() => {})
    .then(() => {
      if (names.get(name) === tail) names.delete(name);
    });
  names.set(name, tail);
  return result;
}

/** The lock under which MEMORY.md of a prefix is rewritten. */
export function coreLock(prefix: string): string {
  return `memory ${prefix}`;
}

/** The lock under which the notes of a prefix are written. */
export function noteLock(prefix: string): string {
  return `memory notes ${prefix}`;
}
