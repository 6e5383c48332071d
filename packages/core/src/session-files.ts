import { SessionStoreError } from './errors/session-store-error.js';
import { WorkspaceError } from './errors/workspace-error.js';
import type { SessionKey } from './session-key.js';
import type { SessionInfo } from './session-store.js';

/** A file of a session does not hold what it must. Reaches users as a `SessionStoreError`. */
export class DamagedFileError extends Error {
  readonly path: string;

  constructor(path: string, reason: string, cause?: unknown) {
    super(`${path} ${reason}`, { cause });
    this.path = path;
  }
}

/** Runs an operation of a store that keeps sessions in files, and gives what goes wrong its meaning. */
export async function attempt<T>(key: SessionKey | undefined, operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw toSessionStoreError(key, error);
  }
}

/** What a read answers, or `undefined` when there is no such file. */
export async function ifFound<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (WorkspaceError.isInstance(error) && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** Sorts what was found by time, and throws what could not be read only after all that could. */
export async function* newestFirst(
  found: AsyncIterable<SessionInfo | SessionStoreError>,
): AsyncGenerator<SessionInfo, void, undefined> {
  const infos: SessionInfo[] = [];
  const errors: SessionStoreError[] = [];
  await attempt(undefined, async () => {
    for await (const item of found) {
      if (SessionStoreError.isInstance(item)) errors.push(item);
      else infos.push(item);
    }
  });
  yield* infos.sort((left, right) => Date.parse(right.updatedAt) - Date.parse(left.updatedAt));
  const [error] = errors;
  if (error === undefined) return;
  if (errors.length === 1) throw error;
  const messages = errors.map(({ message }) => message).join('\n');
  throw new SessionStoreError('session_corrupt', messages, { cause: new AggregateError(errors) });
}

function toSessionStoreError(key: SessionKey | undefined, error: unknown): unknown {
  const subject = key === undefined ? 'A session' : `Session ${key}`;
  const details = { cause: error, ...(key === undefined ? {} : { sessionKey: key.toString() }) };
  if (error instanceof DamagedFileError) {
    return new SessionStoreError(
      'session_corrupt',
      `${subject} is damaged: ${error.message}. The file was left as it is; restore it from a backup, or delete the ` +
        'session to begin anew.',
      details,
    );
  }
  if (WorkspaceError.isInstance(error)) {
    return new SessionStoreError(
      'session_unavailable',
      `${subject} could not be read or written: ${error.message}`,
      details,
    );
  }
  return error;
}
