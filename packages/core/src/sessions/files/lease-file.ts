import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Clock } from '../../lib/clock.js';
import { parsedJson } from '../../lib/json.js';
import { formatHolder, hasEnded, parseHolder, thisProcess } from '../../workspace/lock-holder.js';
import { type HeldLock, readText, type Workspace } from '../../workspace/workspace.js';
import type { SessionKey } from '../session-key.js';
import type { SessionChange, SessionLease } from '../session-store.js';
import { leaseLost, leaseTime } from '../store-rules.js';
import { ifFound } from './session-files.js';

const recordSchema = z.strictObject({
  fence: z.number(),
  /** Milliseconds since 1970. */
  expiresAt: z.number(),
  holder: z.string(),
});

/** The largest fence of this process: a clock alone is too coarse. */
let lastFence = 0;

type LeaseRecord = z.infer<typeof recordSchema>;

/** Where the lease of a session is kept, and how to reach it. */
export interface LeaseFile {
  readonly key: SessionKey;
  readonly workspace: Workspace;
  readonly path: string;
  readonly clock: Clock;
  /** Runs a task under the lock of the session's commits. */
  locked<T>(task: (lock: HeldLock) => Promise<T>): Promise<T>;
  /** Removes the directory around the file when nothing else is in it. */
  tidy(): Promise<void>;
}

/**
 * Grants a lease as a file, which is removed when it is released. A lease ends with its time or its process, whichever
 * is first. The fence is the time in microseconds, or one more than the last: it grows also where no record was left.
 */
export function grantLease(
  file: LeaseFile,
  options: { readonly ttlMs: number },
): Promise<SessionLease | undefined> {
  const ttlMs = leaseTime(options);
  return file.locked(async (lock) => {
    const record = await read(file);
    const now = file.clock.now();
    if (isHeld(record, now)) return undefined;
    const holder = formatHolder({ ...thisProcess(), token: randomUUID() });
    lastFence = Math.max(Math.ceil(now * 1000), (record?.fence ?? 0) + 1, lastFence + 1);
    const fence = lastFence;
    await write(file, lock, { fence, expiresAt: now + ttlMs, holder });
    return { fence, ttlMs, renew: () => renew(file, fence, ttlMs), release: () => release(file, fence) };
  });
}

/** Tells whether a lease is on file that has not ended. */
export async function isLeased(file: Pick<LeaseFile, 'workspace' | 'path' | 'clock'>): Promise<boolean> {
  return isHeld(await read(file), file.clock.now());
}

function isHeld(record: LeaseRecord | undefined, now: number): boolean {
  return record !== undefined && record.expiresAt > now && !isDead(record);
}

/** The fence of the lease on file, which a change under a lease has to have. */
export async function newestFence(
  file: Pick<LeaseFile, 'workspace' | 'path'>,
  { fence }: SessionChange,
): Promise<number | undefined> {
  return fence === undefined ? undefined : (await read(file))?.fence;
}

/** Removes the lease of a process that has ended. */
export async function sweepLease(file: LeaseFile): Promise<void> {
  const seen = await read(file);
  if (seen === undefined || !isDead(seen)) return;
  await file.locked(async (lock) => {
    if ((await read(file))?.fence !== seen.fence) return;
    await lock.check();
    await file.workspace.delete(file.path);
  });
}

function renew(file: LeaseFile, fence: number, ttlMs: number): Promise<void> {
  return file.locked(async (lock) => {
    const record = await read(file);
    if (record?.fence !== fence) throw leaseLost(file.key);
    await write(file, lock, { ...record, expiresAt: file.clock.now() + ttlMs });
  });
}

function release(file: LeaseFile, fence: number): Promise<void> {
  return file.locked(async (lock) => {
    if ((await read(file))?.fence !== fence) return;
    await lock.check();
    await file.workspace.delete(file.path);
    await file.tidy();
  });
}

async function write(file: LeaseFile, lock: HeldLock, record: LeaseRecord): Promise<void> {
  await lock.check();
  await file.workspace.write(file.path, JSON.stringify(record));
}

/** What cannot be read grants nothing: whoever wrote it is refused at the next commit. */
async function read({
  workspace,
  path,
}: Pick<LeaseFile, 'workspace' | 'path'>): Promise<LeaseRecord | undefined> {
  const text = await ifFound(readText(workspace, path));
  return recordSchema.safeParse(parsedJson(text ?? '')).data;
}

function isDead(record: LeaseRecord): boolean {
  const holder = parseHolder(record.holder);
  return holder !== undefined && hasEnded(holder) === true;
}
