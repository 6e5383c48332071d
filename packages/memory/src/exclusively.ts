import type { Workspace } from '@x/core';
import { KeyedMutex } from '@x/core/internal';

const LOCK_TIMEOUT_MS = 30_000;

/** The locks within this process, for workspaces that have none. */
const mutexes = new WeakMap<Workspace, KeyedMutex>();

/**
 * Runs a task while it holds a lock of the workspace. If the workspace has no locks, the lock excludes this process's tasks
 * only. `check` throws if the lock was lost: call it right before a write that would do harm then.
 * @throws {WorkspaceError} `locked` when another holder keeps the lock for longer than `timeoutMs`.
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
  const mutex = mutexes.get(workspace) ?? new KeyedMutex();
  mutexes.set(workspace, mutex);
  return mutex.run(name, () => task(async () => {}));
}

/** Tasks by name, of which one runs and one waits. The one that waits also serves all requests that come until it begins. */
export class Rounds<T> {
  readonly #mutex = new KeyedMutex();
  readonly #waiting = new Map<string, Promise<T>>();

  run(name: string, task: () => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) return waiting;
    const done = this.#mutex.run(name, () => {
      this.#waiting.delete(name);
      return task();
    });
    this.#waiting.set(name, done);
    return done;
  }
}

/** The lock for changes of the memory at a prefix. All agents of a user share it, so that erasing the user excludes them all. */
export function memoryLock(prefix: string): string {
  return `memory ${prefix.replace(/agents\/[^/]+\/$/, '')}`;
}
