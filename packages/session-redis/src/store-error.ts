import {
  errorText,
  type SessionKey,
  SessionStoreError,
  sessionDamaged,
  storeUnavailable,
  XError,
} from '@x/core';

export function newer(key: SessionKey, format: number): SessionStoreError {
  return new SessionStoreError(
    'session_newer',
    `Session ${key} has format ${format}, which a newer release of @x/session-redis wrote. Nothing is wrong with it; ` +
      'upgrade this process.',
    { sessionKey: key.toString() },
  );
}

/** How Redis begins when it refuses a command before it does anything. */
const REFUSED =
  /^(\w+Error: )?(OOM|READONLY|NOPERM|NOAUTH|WRONGPASS|LOADING|MASTERDOWN|NOREPLICAS|MISCONF|EXECABORT|TRYAGAIN|CLUSTERDOWN|MOVED|ASK)\b/;

/** Does something with Redis; whatever the client throws becomes a `SessionStoreError`. */
export async function asStoreError<T>(key: SessionKey | undefined, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (XError.isInstance(error)) throw error;
    const reason = errorText(error);
    if (key && reason.startsWith('WRONGTYPE'))
      throw sessionDamaged(key, 'Redis', 'a key of it holds another type', error);
    throw storeUnavailable('Redis', error, REFUSED.test(reason) ? 'none' : 'unknown', key);
  }
}
