import { setTimeout as sleep } from 'node:timers/promises';
import { fileSegment, type Workspace, type WorkspaceEntry, WorkspaceError } from '@x/core';
import { readIfFound } from './memory-files.js';

const LOCK_TIMEOUT_MS = 30_000;
/** A lease that was not renewed for so long is that of a process that died: less than a wait for a lock takes at most. */
const LEASE_MS = 20_000;
const RENEWAL_MS = 5_000;
const POLL_MS = 20;

/** By name, what the next task of this process waits for. */
export type Turns = Map<string, Promise<unknown>>;
const turnsOf = new WeakMap<Workspace, Turns>();
/** By folder, what its last lease was when it was looked at, and since when it has been that. */
const sightingsOf = new WeakMap<Workspace, Map<string, { readonly lease: string; readonly since: number }>>();

/**
 * Runs `task` alone, among all that use the workspace: by its lock, or by files where it has none.
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
  return inTurn(turns, name, () => withLease(workspace, name, task, timeoutMs));
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

/**
 * Runs `task` under a lease: a file that only one can create. Its name has a number greater than those before, and the
 * greatest counts: what a process that was stopped for long does to its own file changes nothing.
 */
async function withLease<T>(
  workspace: Workspace,
  name: string,
  task: (check: () => Promise<void>) => Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const folder = `memory/.leases/${fileSegment(name)}`;
  const leases = async () => {
    const found: WorkspaceEntry[] = [];
    for await (const entry of workspace.list(folder)) found.push(entry);
    return found;
  };
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const known = await leases();
    const last = known.at(-1);
    if (last === undefined || last.size === 0 || (await isDead(workspace, folder, last.path))) {
      const number = Number(last?.path.slice(folder.length + 1) ?? 0) + 1;
      const path = `${folder}/${String(number).padStart(15, '0')}`;
      const isMade = await workspace.write(path, renewed(0), { ifAbsent: true }).then(
        () => true,
        (error: unknown) =>
          WorkspaceError.isInstance(error) && error.code === 'already_exists' ? false : Promise.reject(error),
      );
      const isMine = async () => (await leases()).at(-1)?.path === path;
      // A number that others have passed and cleared away can be made again: it is not the greatest.
      if (isMade && (await isMine())) {
        for (const { path: old } of known) await workspace.delete(old);
        return runUnder(workspace, path, isMine, task);
      }
      if (isMade) await workspace.delete(path);
    }
    if (performance.now() >= deadline) {
      throw new WorkspaceError('locked', folder, `${name} is in use by another process: try again later.`);
    }
    await sleep(POLL_MS);
  }
}

/** Each renewal of a lease says something else. */
function renewed(count: number): string {
  return `held ${count}`;
}

/**
 * Tests whether a lease was not renewed for too long. What it says is compared, and the time is that of this process: clocks
 * of files and of other machines may be wrong. What was seen is kept for those who wait but a moment, and come again.
 */
async function isDead(workspace: Workspace, folder: string, path: string): Promise<boolean> {
  const sightings = sightingsOf.get(workspace) ?? new Map();
  sightingsOf.set(workspace, sightings);
  const lease = `${path} ${await readIfFound(workspace, path)}`;
  const seen = sightings.get(folder);
  if (seen?.lease === lease) return performance.now() - seen.since >= LEASE_MS;
  sightings.set(folder, { lease, since: performance.now() });
  return false;
}

/** Renews a lease while a task runs, and ends it. */
async function runUnder<T>(
  workspace: Workspace,
  path: string,
  isMine: () => Promise<boolean>,
  task: (check: () => Promise<void>) => Promise<T>,
): Promise<T> {
  let renewal: Promise<unknown> = Promise.resolve();
  let count = 0;
  const renew = () => {
    renewal = renewal.then(() => workspace.write(path, renewed(++count))).catch(() => {});
  };
  const timer = setInterval(renew, RENEWAL_MS).unref();
  try {
    return await task(async () => {
      if (!(await isMine())) throw new WorkspaceError('locked', path, 'the lease was lost: try again.');
    });
  } finally {
    clearInterval(timer);
    await renewal;
    // The task is done: a lease that cannot be ended runs out by itself.
    await workspace.write(path, '').catch(() => {});
  }
}

/** The lock under which MEMORY.md of a prefix is rewritten. */
export function coreLock(prefix: string): string {
  return `memory ${prefix}`;
}

/** The lock under which the notes of a prefix are written. */
export function noteLock(prefix: string): string {
  return `memory notes ${prefix}`;
}
