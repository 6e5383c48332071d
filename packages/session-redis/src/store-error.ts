import { errorText, type SessionKey, SessionStoreError, XError } from '@x/core';

export function corrupt(key: SessionKey, what: string, cause?: unknown): SessionStoreError {
  return new SessionStoreError(
    'session_corrupt',
    `Session ${key} is damaged in Redis: ${what}. It was left as it is; restore it from a backup or delete it.`,
    { sessionKey: key.toString(), cause },
  );
}

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
    const reason = errorText(error).replace(/\.+$/, '');
    if (key && reason.startsWith('WRONGTYPE')) throw corrupt(key, 'a key of it holds another type', error);
    const outcome = REFUSED.test(reason) ? 'none' : 'unknown';
    const [what, consequence] =
      outcome === 'none'
        ? ['Redis refused', 'Nothing was written.']
        : [
            'Redis could not be reached',
            'A commit that failed this way may have been applied: send it again.',
          ];
    throw new SessionStoreError('session_unavailable', `${what}: ${reason}. ${consequence}`, {
      ...(key && { sessionKey: key.toString() }),
      cause: error,
      outcome,
    });
  }
}
