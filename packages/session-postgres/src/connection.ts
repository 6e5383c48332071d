import { setTimeout as sleep } from 'node:timers/promises';
import { type SessionKey, SessionStoreError, XError } from '@x/core';
import type { Pool, PoolClient } from 'pg';

/** What the driver's errors say of themselves. */
interface DriverError extends Error {
  /** Five characters from the server, or the name of a failed system call's error. */
  readonly code?: string;
}

const ATTEMPTS = 5;
/** Another transaction was in the way, or the server ends, starts, or is a replica since a failover. */
const TRANSIENT = /^(40001|40P01|55P03|57P0[123]|25006|08\w{3}|ECONNRESET|EPIPE)$/;
const NOT_MIGRATED = /^(42P01|42703)$/;

/** Does something with the database, again when it failed for a passing reason, so `task` must bear repetition. */
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

/** Does something on a connection of its own, which others use afterwards if it is good for that. */
export async function withConnection<T>(
  pool: Pool,
  task: (connection: PoolClient) => Promise<T>,
): Promise<T> {
  const connection = await pool.connect();
  // What ends a connection fails the statement that runs on it, too.
  const ignore = () => {};
  connection.on('error', ignore);
  let isGood = true;
  try {
    return await task(connection);
  } catch (error) {
    const { code = '' } = error as DriverError;
    // A refusal of the server is none of the connection's, unless a failover made the server a replica.
    isGood = XError.isInstance(error) || (/^[0-9A-Z]{5}$/.test(code) && !/^(25006|57P..|EPIPE)$/.test(code));
    throw error;
  } finally {
    connection.off('error', ignore);
    connection.release(!isGood);
  }
}

function isTransient(error: unknown): boolean {
  const { code = '', message } = error as DriverError;
  return TRANSIENT.test(code) || /^Connection terminated/.test(message);
}

/** Tells whether the server did nothing of the statement, for certain. */
function isRefused(error: unknown): boolean {
  const { code = '' } = error as DriverError;
  return /^[0-9A-Z]{5}$/.test(code) && !/^(08|57P|EPIPE)/.test(code);
}

/** Gives what the driver throws its meaning. */
function unavailable(
  key: SessionKey | undefined,
  error: unknown,
  outcome: 'none' | 'unknown',
): SessionStoreError {
  const { code = '', message } = error as DriverError;
  const text = NOT_MIGRATED.test(code)
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
