import { type Workspace, WorkspaceError } from '@x/core';
import { KeyedMutex } from '@x/core/internal';

const LOCK_TIMEOUT_MS = 30_000;

/** In-process locks, for workspaces without locks. */
const mutexes = new WeakMap<Workspace, KeyedMutex>();

/**
 * Runs a task under a lock of the workspace. If the workspace has no locks, the lock excludes only tasks of this process. `check` throws if
 * the lock was lost. Call it right before a write that must not run without the lock.
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

/** Like {@link exclusively}, but does nothing if another holder keeps the lock for longer than `timeoutMs`. */
export async function unlessLocked(
  workspace: Workspace,
  name: string,
  task: () => Promise<void>,
  timeoutMs?: number,
): Promise<void> {
  let isHeld = false;
  const held = () => {
    isHeld = true;
    return task();
  };
  return exclusively(workspace, name, held, timeoutMs).catch((error: unknown) => {
    if (isHeld || !WorkspaceError.isInstance(error) || error.code !== 'locked') throw error;
  });
}

/** Runs at most one task per name, and queues one more. Requests that arrive before the queued task starts share it. */
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

/** The name of the lock for changes below a prefix. All agents of a user share it, so that erasing the user excludes them all. */
export function memoryLock(prefix: string): string {
  return `memory ${prefix.replace(/agents\/[^/]+\/$/, '')}`;
}
