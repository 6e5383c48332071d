import { errorText, type SessionKey, SessionStoreError, XError } from '@x/core';

export function corrupt(key: SessionKey, what: string, cause?: unknown): SessionStoreError {
  return new SessionStoreError(
    'session_corrupt',
    `Session ${key} is damaged in Redis: ${what}. It was left as it is; restore it from a backup or delete it.`,
    { sessionKey: key.toString(), cause },
  );
}

/** Does something with Redis; whatever the client throws becomes a `SessionStoreError`. */
export async function asStoreError<T>(key: SessionKey | undefined, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (XError.isInstance(error)) throw error;
    const reason = errorText(error).replace(/\.+$/, '');
    if (key && reason.startsWith('WRONGTYPE')) throw corrupt(key, 'a key of it holds another type', error);
    throw new SessionStoreError(
      'session_unavailable',
      `Redis could not be reached or refused: ${reason}. A commit that failed this way may have been applied: load the ` +
        'session again before you retry.',
      { ...(key && { sessionKey: key.toString() }), cause: error },
    );
  }
}
