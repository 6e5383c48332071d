import { setTimeout as sleep } from 'node:timers/promises';
import { type SessionKey, SessionStoreError, XError } from '@x/core';

/** What a driver's errors say of themselves. */
interface DriverError extends Error {
  readonly errno?: number;
  readonly fatal?: boolean;
}

const ATTEMPTS = 5;
/** Tables or columns that `migrate` makes. */
const NOT_MIGRATED = new Set([1054, 1146]);
/**
 * Another transaction was in the way: lock wait timeout, deadlock, changed since the snapshot (MariaDB). Or the server
 * let go of the connection: shutdown, killed.
 */
const TRANSIENT = new Set([1205, 1213, 1020, 1053, 1927]);
/** It may not be written to: it is a replica. */
const READ_ONLY = new Set([1290, 1792, 1836]);
/** The server did nothing of the statement, for certain. */
const REFUSED = new Set([
  1040, 1044, 1045, 1054, 1114, 1142, 1146, 1203, 1205, 1213, 1226, 1290, 1305, 1370, 1792, 1836, 3024,
]);

/**
 * Does something with the database, again when it failed for a passing reason, so `task` must bear repetition. Whatever
 * the driver throws in the end becomes a `SessionStoreError`.
 */
export async function attempt<T>(key: SessionKey | undefined, task: () => Promise<T>): Promise<T> {
  // A refusal tells nothing of an earlier attempt, whose reply may have been all that was lost.
  let outcome: 'none' | 'unknown' = 'none';
  for (let number = 1; ; number++) {
    try {
      return await task();
    } catch (error) {
      if (XError.isInstance(error)) throw error;
      if (!isRefused(error)) outcome = 'unknown';
      if (!isTransient(error) || number === ATTEMPTS) throw unavailable(key, error, outcome);
      await sleep(Math.random() * 10 * 2 ** number);
    }
  }
}

function isTransient(error: unknown): boolean {
  const { errno = 0, fatal } = error as DriverError;
  return fatal === true || TRANSIENT.has(errno) || isReadOnly(error);
}

/** Whether the server may not be written to: a failover made it a replica. */
export function isReadOnly(error: unknown): boolean {
  return READ_ONLY.has((error as DriverError).errno ?? 0);
}

function isRefused(error: unknown): boolean {
  const { errno = 0, fatal = false } = error as DriverError;
  return REFUSED.has(errno) && !fatal;
}

function unavailable(
  key: SessionKey | undefined,
  error: unknown,
  outcome: 'none' | 'unknown',
): SessionStoreError {
  const { errno = 0, message } = error as DriverError;
  const text = NOT_MIGRATED.has(errno)
    ? `The tables are missing or of an older release (${message}): call migrate() once before the first use.`
    : outcome === 'none'
      ? `The database refused: ${message}. Nothing was written.`
      : `The database could not be reached: ${message}. A commit that failed this way may have been applied: send it again.`;
  return new SessionStoreError('session_unavailable', text, {
    ...(key && { sessionKey: key.toString() }),
    cause: error,
    outcome,
  });
}
