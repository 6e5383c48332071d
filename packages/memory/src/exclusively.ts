import type { Workspace } from '@x/core';

const LOCK_TIMEOUT_MS = 30_000;

/** By name, what the next task of this process waits for. */
type Turns = Map<string, Promise<unknown>>;
const turnsOf = new WeakMap<Workspace, Turns>();

/**
 * Runs `task` alone among all that use the workspace; where that has no lock, among those of this process. `check` throws when
 * the lock was lost: call it right before a write that would do harm then.
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
async function inTurn<T>(turns: Turns, name: string, task: () => Promise<T>): Promise<T> {
  const result = (turns.get(name) ?? Promise.resolve()).then(task);
  const tail = result
    .catch(() => {})
    .then(() => {
      if (turns.get(name) === tail) turns.delete(name);
    });
  turns.set(name, tail);
  return result;
}

/** Work by name, of which one runs and one waits: what is asked for meanwhile is done by the one that waits. */
export class Rounds<Reason, T> {
  readonly #turns: Turns = new Map();
  readonly #waiting = new Map<string, { readonly reasons: Set<Reason>; readonly done: Promise<T> }>();

  /** Runs `task` with all reasons for which it was asked until it began. However often that is, it soon begins. */
  run(name: string, reason: Reason, task: (reasons: ReadonlySet<Reason>) => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) {
      waiting.reasons.add(reason);
      return waiting.done;
    }
    const reasons = new Set([reason]);
    const done = inTurn(this.#turns, name, () => {
      this.#waiting.delete(name);
      return task(reasons);
    });
    this.#waiting.set(name, { reasons, done });
    return done;
  }
}

/** The lock under which MEMORY.md and the notes of a prefix change: one for all agents of an owner, who may be erased. */
export function memoryLock(prefix: string): string {
  return `memory ${prefix.replace(/agents\/[^/]+\/$/, '')}`;
}
