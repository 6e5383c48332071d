import { setTimeout as sleep } from 'node:timers/promises';
import { type SessionKey, SessionStoreError, XError } from '@x/core';

/** What a driver's errors say of themselves. */
interface DriverError extends Error {
  readonly errno?: number;
  readonly fatal?: boolean;
}

const ATTEMPTS = 5;
const NO_SUCH_TABLE = 1146;
/**
 * Another transaction was in the way: lock wait timeout, deadlock, changed since the snapshot (MariaDB). Or the server
 * let go of the connection: shutdown, killed.
 */
const TRANSIENT = new Set([1205, 1213, 1020, 1053, 1927]);

export function corrupt(key: SessionKey, what: string, cause?: unknown): SessionStoreError {
  return new SessionStoreError(
    'session_corrupt',
    `Session ${key} is damaged in the database: ${what}. It was left as it is; restore it from a backup or delete it.`,
    { sessionKey: key.toString(), cause },
  );
}

/**
 * Does something with the database, again when it failed for a passing reason, so `task` must bear repetition. Whatever
 * the driver throws in the end becomes a `SessionStoreError`.
 */
export async function attempt<T>(key: SessionKey | undefined, task: () => Promise<T>): Promise<T> {
  for (let number = 1; ; number++) {
    try {
      return await task();
    } catch (error) {
      if (XError.isInstance(error)) throw error;
      if (!isTransient(error) || number === ATTEMPTS) throw unavailable(key, error);
      await sleep(Math.random() * 10 * 2 ** number);
    }
  }
}

function isTransient(error: unknown): boolean {
  const { errno, fatal } = error as DriverError;
  return fatal === true || (errno !== undefined && TRANSIENT.has(errno));
}

function unavailable(key: SessionKey | undefined, error: unknown): SessionStoreError {
  const { errno, message } = error as DriverError;
  const text =
    errno === NO_SUCH_TABLE
      ? `The tables are missing (${message}): call migrate() once before the first use.`
      : `The database could not be reached or refused: ${message}. A commit that failed this way may have been ` +
        'applied: load the session again before you retry.';
  return new SessionStoreError('session_unavailable', text, {
    ...(key && { sessionKey: key.toString() }),
    cause: error,
  });
}
