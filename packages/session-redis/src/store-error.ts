import { type SessionKey, XError } from '@x/core';
import { errorText, sessionDamaged, storeUnavailable } from '@x/core/internal';

/** How Redis begins when it refuses a command before it does anything. */
const REFUSED =
  /^(\w+Error: )?(OOM|READONLY|NOPERM|NOAUTH|WRONGPASS|LOADING|MASTERDOWN|NOREPLICAS|MISCONF|EXECABORT|TRYAGAIN|CLUSTERDOWN|MOVED|ASK)\b/;

/** Tests whether Redis refused a command before it did anything. */
export function isRefused(error: unknown): boolean {
  return REFUSED.test(errorText(error));
}

/** Does something with Redis; whatever the client throws becomes a `SessionStoreError`. */
export async function asStoreError<T>(key: SessionKey | undefined, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (XError.isInstance(error)) throw error;
    const reason = errorText(error);
    if (key && reason.startsWith('WRONGTYPE'))
      throw sessionDamaged(key, 'Redis', 'a key of it holds another type', error);
    throw storeUnavailable('Redis', error, isRefused(error) ? 'none' : 'unknown', key);
  }
}
