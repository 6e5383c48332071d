import { SessionStoreError } from '../errors/session-errors.js';
import { XError } from '../errors/x-error.js';
import { systemClock } from '../lib/clock.js';
import type { SessionKey } from './session-key.js';
import { storeUnavailable } from './store-rules.js';

/** The meaning of a driver's error. */
export interface DriverFailure {
  /** The failure is transient, such as a deadlock or a lost server: the next attempt may succeed. */
  readonly isTransient: boolean;
  /** The server rejected the statement and certainly changed nothing. */
  readonly isRefused: boolean;
  /** A table or a column is missing. */
  readonly isMissing: boolean;
}

const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 20;

/**
 * Returns the function that runs every task of a store on a database server. It retries tasks after transient failures, so tasks
 * must be safe to repeat. The final error of the driver becomes a `SessionStoreError`.
 *
 * @param judge Classifies an error of the driver.
 */
export function databaseAttempts(
  judge: (error: Error) => DriverFailure,
): <T>(key: SessionKey | undefined, task: () => Promise<T>) => Promise<T> {
  return async (key, task) => {
    // A rejected retry does not show whether an earlier attempt was applied, because only its reply may have been lost.
    let outcome: 'none' | 'unknown' = 'none';
    for (let number = 1; ; number++) {
      try {
        return await task();
      } catch (error) {
        if (XError.isInstance(error)) throw error;
        const { isTransient, isRefused, isMissing } = judge(error as Error);
        if (!isRefused) outcome = 'unknown';
        if (isMissing) throw tablesMissing(error as Error, outcome);
        if (!isTransient || number === ATTEMPTS)
          throw storeUnavailable('The database', error, outcome, key, isTransient);
        // Jitter keeps tasks that conflicted once from conflicting again.
        await systemClock.sleep(Math.random() * FIRST_PAUSE_MS * 2 ** (number - 1));
      }
    }
  };
}

function tablesMissing(cause: Error, outcome: 'none' | 'unknown'): SessionStoreError {
  const text = `The tables are missing (${cause.message}). Call createTables() once before the first use.`;
  return new SessionStoreError('session_unavailable', text, { cause, outcome });
}
