import { SessionStoreError } from '../errors/session-errors.js';
import { XError } from '../errors/x-error.js';
import { systemClock } from '../lib/clock.js';
import type { SessionKey } from './session-key.js';
import { storeUnavailable } from './store-rules.js';

/** What the error of a driver says of the statement that failed. */
export interface DriverFailure {
  /** Another transaction was in the way, or the server went: the next attempt may succeed. */
  readonly isTransient: boolean;
  /** The server did nothing of the statement, for certain. */
  readonly isRefused: boolean;
  /** A table or a column is missing. */
  readonly isMissing: boolean;
}

const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 20;

/**
 * Makes what a store on a database server does everything by: a task is done again when it failed for a passing reason, so
 * it must bear repetition, and whatever the driver throws in the end becomes a `SessionStoreError`.
 *
 * @param judge Says what an error of the driver means.
 */
export function databaseAttempts(
  judge: (error: Error) => DriverFailure,
): <T>(key: SessionKey | undefined, task: () => Promise<T>) => Promise<T> {
  return async (key, task) => {
    // A refusal tells nothing of an earlier attempt, whose reply may have been all that was lost.
    let outcome: 'none' | 'unknown' = 'none';
    for (let number = 1; ; number++) {
      try {
        return await task();
      } catch (error) {
        if (XError.isInstance(error)) throw error;
        const { isTransient, isRefused, isMissing } = judge(error as Error);
        if (!isRefused) outcome = 'unknown';
        if (isMissing) throw tablesMissing(error as Error, outcome);
        if (!isTransient || number === ATTEMPTS) throw storeUnavailable('The database', error, outcome, key);
        // With jitter, so that those who met once do not meet again.
        await systemClock.sleep(Math.random() * FIRST_PAUSE_MS * 2 ** (number - 1));
      }
    }
  };
}

function tablesMissing(cause: Error, outcome: 'none' | 'unknown'): SessionStoreError {
  const text = `The tables are missing (${cause.message}). Call createTables() once before the first use.`;
  return new SessionStoreError('session_unavailable', text, { cause, outcome });
}
