import { randomUUID } from 'node:crypto';
import { lstat, readdir, rename, rm, rmdir, stat, unlink, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkspaceError } from '../errors/workspace-error.js';
import { withinLimit } from '../lib/deadline.js';
import { KeyedMutex } from '../lib/keyed-mutex.js';
import { makeDirectory } from './durable-file.js';
import { ABSENT, errorCode, toWorkspaceError, undefinedOn } from './io-error.js';
import { formatHolder, hasEnded, type LockHolder, parseHolder, thisProcess } from './lock-holder.js';
import type { HeldLock } from './workspace.js';

const DEFAULT_TIMEOUT_MS = 10_000;
const HEARTBEAT_MS = 5_000;
/** A holder elsewhere that has been silent for this long is taken for dead. */
const SILENCE_MS = 30_000;
const LONGEST_POLL_MS = 50;
/** Codes of the system for a rename onto something that exists. */
const OCCUPIED =
  process.platform === 'win32' ? ['EEXIST', 'ENOTEMPTY', 'EPERM', 'EACCES'] : ['EEXIST', 'ENOTEMPTY'];

/** The tasks of this process by lock: first come, first served. */
const turns = new KeyedMutex();
/** Directories in which this process has cleaned up already. */
const swept = new Set<string>();

interface LockOptions {
  readonly timeoutMs?: number | undefined;
  /** A path of the lock for calls of the system. Default: `path`, which is what the lock is called. */
  readonly at?: string;
}

/**
 * Runs `task` while no other task, of this or another process, holds the lock `path`.
 *
 * A lock is a directory with one entry, named after its holder. It is prepared elsewhere and renamed into place, which
 * the system refuses while there is a directory that is not empty: so it appears complete or not at all. To release a
 * lock, or to take over a dead holder's, is to remove that holder's entry by name: nobody can remove another's by
 * mistake, however late they act on what they saw. (Plain lock files need a second lock for that.)
 *
 * A holder counts as dead when its process has ended; where that cannot be seen, on another machine or in another
 * container, when it has not touched its entry for 30 seconds.
 *
 * @throws {WorkspaceError} `locked` when the lock could not be had within `timeoutMs` (default 10 000).
 */
export async function withFileLock<T>(
  path: string,
  task: (lock: HeldLock) => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const { at = path } = options;
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const deadline = performance.now() + timeoutMs;
  // To a limit, 0 is none.
  const wait = ['The lock', 'timeoutMs', Math.max(1, timeoutMs)] as const;
  const inTurn = (before: Promise<unknown>) =>
    withinLimit(wait, () => before).catch(() => {
      throw locked(path, 'another task of this process', timeoutMs);
    });
  const run = async () => {
    const entry = await acquire(path, at, deadline, timeoutMs).catch((error: unknown) => {
      throw toWorkspaceError(path, error);
    });
    // A failed beat has no consequence here: `check` finds out whether the lock was lost.
    const beat = setInterval(
      () => utimes(entry, new Date(), new Date()).catch(() => {}),
      HEARTBEAT_MS,
    ).unref();
    try {
      return await task({ check: () => assertHeld(path, entry) });
    } finally {
      clearInterval(beat);
      await removeEntry(at, entry);
    }
  };
  return turns.run(path, run, inTurn);
}

/** Waits for the lock and answers the entry that stands for holding it. */
async function acquire(path: string, at: string, deadline: number, timeoutMs: number): Promise<string> {
  const holder: LockHolder = { ...thisProcess(), token: randomUUID() };
  await sweepOnce(dirname(path), dirname(at));
  for (let pause = 1; ; pause = Math.min(2 * pause, LONGEST_POLL_MS)) {
    if (await claim(at, holder)) break;
    const living = await removeDead(at);
    if (living === undefined && (await claim(at, holder))) break;
    const rest = deadline - performance.now();
    if (rest <= 0) throw locked(path, holderText(living), timeoutMs);
    await sleep(Math.min(rest, pause * (0.5 + Math.random())));
  }
  return join(at, formatHolder(holder));
}

/** Removes the entries of holders that are dead, and answers one that is not. */
async function removeDead(path: string): Promise<string | undefined> {
  let living: string | undefined;
  for (const name of await holdersOf(path)) {
    const entry = join(path, name);
    if (await isDead(entry, name)) await removeEntry(path, entry);
    else living = name;
  }
  return living;
}

async function claim(path: string, holder: LockHolder): Promise<boolean> {
  // Looking first keeps those who wait from making and removing directories.
  if ((await holdersOf(path)).length > 0) return false;
  const candidate = `${path}.${holder.token}`;
  const entry = join(candidate, formatHolder(holder));
  await makeDirectory(entry);
  try {
    await rename(candidate, path);
    return true;
  } catch (error) {
    await removeEntry(candidate, entry);
    if (errorCode(error) === 'ENOTDIR') {
      await unlink(path);
      return false;
    }
    if (!OCCUPIED.includes(errorCode(error) ?? '')) throw error;
    // Windows does not rename onto a directory, not even an empty one.
    await rmdir(path).catch(() => {});
    return false;
  }
}

async function isDead(entry: string, name: string): Promise<boolean> {
  const holder = parseHolder(name);
  const ended = holder && hasEnded(holder);
  if (ended !== undefined) return ended;
  const found = await undefinedOn(ABSENT, lstat(entry));
  if (found === undefined) return false;
  // A holder is a directory: anything else was put there by someone else, such as a repository that brings it.
  return !found.isDirectory() || Date.now() - found.mtimeMs > SILENCE_MS;
}

/** Removes what processes left that were killed between preparing a lock and renaming it into place. */
async function sweepOnce(name: string, directory: string): Promise<void> {
  if (swept.has(name)) return;
  swept.add(name);
  for (const entry of (await undefinedOn(ABSENT, readdir(directory, { withFileTypes: true }))) ?? []) {
    // What a link leads to is nobody's lock.
    if (!entry.isDirectory()) continue;
    const candidate = join(directory, entry.name);
    await removeDead(candidate);
    await rmdir(candidate).catch(() => {});
  }
}

async function assertHeld(path: string, entry: string): Promise<void> {
  if ((await undefinedOn(ABSENT, stat(entry))) !== undefined) return;
  throw new WorkspaceError(
    'locked',
    path,
    `The lock ${path} was lost: this process was silent for more than ${SILENCE_MS / 1000} s and another one took ` +
      'over. Nothing further was written; read the current state and try again.',
  );
}

async function holdersOf(path: string): Promise<string[]> {
  return (await undefinedOn(ABSENT, readdir(path))) ?? [];
}

// Another process may have done both already, and a new holder may own the directory: then it is not empty.
async function removeEntry(path: string, entry: string): Promise<void> {
  await rm(entry, { recursive: true, force: true }).catch(() => {});
  await rmdir(path).catch(() => {});
}

function holderText(name: string | undefined): string {
  const holder = name === undefined ? undefined : parseHolder(name);
  return holder ? `process ${holder.pid} on ${holder.host.split('+')[0]}` : 'another process';
}

function locked(path: string, holder: string, timeoutMs: number): WorkspaceError {
  return new WorkspaceError(
    'locked',
    path,
    `The lock ${path} is held by ${holder} and did not come free within ${timeoutMs} ms. Try again later or wait ` +
      'longer; delete it only if no process works there.',
  );
}
