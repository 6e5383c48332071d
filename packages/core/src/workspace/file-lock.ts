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
/** Milliseconds without a heartbeat after which a holder on another machine counts as dead. */
const SILENCE_MS = 30_000;
const LONGEST_POLL_MS = 50;
/** System error codes of a rename onto an existing directory. */
const OCCUPIED =
  process.platform === 'win32' ? ['EEXIST', 'ENOTEMPTY', 'EPERM', 'EACCES'] : ['EEXIST', 'ENOTEMPTY'];

/** Queues the tasks of this process per lock, in order of arrival. */
const turns = new KeyedMutex();
/** Directories that this process has already cleaned up. */
const swept = new Set<string>();

interface LockOptions {
  readonly timeoutMs?: number | undefined;
  /** Path of the lock for system calls. Default: `path`, which names the lock in errors. */
  readonly at?: string;
}

/**
 * Runs `task` while no other task, of this or another process, holds the lock `path`.
 *
 * A lock is a directory with one entry, named after its holder. It is prepared elsewhere and renamed into place. The system rejects
 * the rename while a non-empty directory exists, so the lock appears completely or not at all. To release a lock, or to take over
 * that of a dead holder, a process removes the holder's entry by name. Therefore nobody can remove another holder's lock by mistake,
 * however late it acts. (Plain lock files need a second lock for that.)
 *
 * A holder counts as dead when its process has ended. If that cannot be checked (another machine or container), it counts as dead
 * when it has not touched its entry for 30 seconds.
 *
 * @throws {WorkspaceError} `locked` when the lock was not acquired within `timeoutMs` (default 10 000).
 */
export async function withFileLock<T>(
  path: string,
  task: (lock: HeldLock) => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const { at = path } = options;
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const deadline = performance.now() + timeoutMs;
  // At least 1, because withinLimit treats 0 as no limit.
  const wait = ['The lock', 'timeoutMs', Math.max(1, timeoutMs)] as const;
  const inTurn = (before: Promise<unknown>) =>
    withinLimit(wait, () => before).catch(() => {
      throw locked(path, 'another task of this process', timeoutMs);
    });
  const run = async () => {
    const entry = await acquire(path, at, deadline, timeoutMs).catch((error: unknown) => {
      throw toWorkspaceError(path, error);
    });
    // A failed heartbeat needs no handling, because `check` finds out whether the lock was lost.
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

/** Waits for the lock and returns the path of its holder's entry. */
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

/** Removes the entries of dead holders, and returns the entry of a live one, if any. */
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
  // Check first, so that waiting processes do not create and remove directories all the time.
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
    // Windows cannot rename onto a directory, not even an empty one.
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
  // A holder's entry is a directory. Anything else is not from this code, for example committed to a repository.
  return !found.isDirectory() || Date.now() - found.mtimeMs > SILENCE_MS;
}

/** Removes lock directories left by processes that were killed between preparing a lock and renaming it into place. */
async function sweepOnce(name: string, directory: string): Promise<void> {
  if (swept.has(name)) return;
  swept.add(name);
  for (const entry of (await undefinedOn(ABSENT, readdir(directory, { withFileTypes: true }))) ?? []) {
    // Skip symbolic links, because their targets are not locks.
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
    `The lock ${path} was lost: this process sent no heartbeat for more than ${SILENCE_MS / 1000} s, and another process took ` +
      'over. Nothing more was written. Read the current state and try again.',
  );
}

async function holdersOf(path: string): Promise<string[]> {
  return (await undefinedOn(ABSENT, readdir(path))) ?? [];
}

// Errors are ignored: another process may have removed both, or a new holder may own the directory, which then is not empty.
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
    `The lock ${path} is held by ${holder} and was not released within ${timeoutMs} ms. Try again later or wait ` +
      'longer; delete it only if no process uses it.',
  );
}
