import { type SessionKey, XError } from '@x/core';
import { errorText, sessionDamaged, storeUnavailable } from '@x/core/internal';

/** Prefixes of transient errors: the server will soon accept the command, or another server replaces it. */
const MOMENTARY =
  'READONLY|LOADING|MASTERDOWN|NOREPLICAS|TRYAGAIN|CLUSTERDOWN|MOVED|ASK|BUSY|ERR max number of clients';

/** Matches the text before these prefixes: the name of a client's error and, in Redis up to version 6, the name of the script. */
const BEFORE = '^(\\w+Error: )?(ERR Error running script .*-(?=READONLY))?';

const TRANSIENT = new RegExp(`${BEFORE}(${MOMENTARY})\\b`);

/** Error prefixes with which Redis rejects a command before it does anything. */
const REFUSED = new RegExp(`${BEFORE}(${MOMENTARY}|OOM|NOPERM|NOAUTH|WRONGPASS|MISCONF|EXECABORT)\\b`);

/** Matches all other errors of a server, and errors of a client that the program has closed. Repeating the command does not help. */
const FINAL = /^(\w+Error: )?[A-Z]{2,}\b|\bis closed\b/;

/** Tests if the same command may succeed soon: Redis could not be reached, or rejected the command only for the moment. */
export function isTransient(error: unknown): boolean {
  const text = errorText(error);
  return TRANSIENT.test(text) || !FINAL.test(text);
}

/** Tests if Redis rejected a command before it did anything. */
export function isRefused(error: unknown): boolean {
  return REFUSED.test(errorText(error));
}

/** Runs a task on Redis and converts the client's errors to `SessionStoreError`. */
export async function asStoreError<T>(key: SessionKey | undefined, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (XError.isInstance(error)) throw error;
    const reason = errorText(error);
    if (key && reason.startsWith('WRONGTYPE'))
      throw sessionDamaged(key, 'Redis', 'one of its keys has a wrong type', error);
    throw storeUnavailable('Redis', error, isRefused(error) ? 'none' : 'unknown', key, isTransient(error));
  }
}
