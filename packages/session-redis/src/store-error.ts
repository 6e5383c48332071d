import { type SessionKey, XError } from '@x/core';
import { errorText, sessionDamaged, storeUnavailable } from '@x/core/internal';

/** Error prefixes with which Redis rejects a command before it does anything. */
const REFUSED =
  /^(\w+Error: )?(OOM|READONLY|NOPERM|NOAUTH|WRONGPASS|LOADING|MASTERDOWN|NOREPLICAS|MISCONF|EXECABORT|TRYAGAIN|CLUSTERDOWN|MOVED|ASK)\b/;

/** Error prefixes of a server that will soon accept the command, or that another one replaces. */
const TRANSIENT = /^(\w+Error: )?(READONLY|LOADING|MASTERDOWN|NOREPLICAS|TRYAGAIN|CLUSTERDOWN|MOVED|ASK)\b/;

/** Any other reply of a server, and the errors of clients that the program has closed. */
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
