import { SessionStoreError } from '../../errors/session-store-error.js';
import { WorkspaceError } from '../../errors/workspace-error.js';
import type { SessionKey, SessionScope } from '../session-key.js';
import type { SessionInfo } from '../session-store.js';

/** A file of a session does not hold what it must. Reaches users as a `SessionStoreError`. */
export class DamagedFileError extends Error {
  constructor(path: string, reason: string, cause?: unknown) {
    super(`${path} ${reason}`, { cause });
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

/**
 * The sessions of a scope among the files at `paths`, newest first. What cannot be read is thrown only after all that
 * could: one damaged session does not hide the others.
 */
export async function* listSessions(
  paths: AsyncIterable<string>,
  scope: SessionScope,
  read: (path: string) => Promise<SessionInfo | undefined>,
): AsyncGenerator<SessionInfo, void, undefined> {
  const infos: SessionInfo[] = [];
  const errors: SessionStoreError[] = [];
  await attempt(undefined, async () => {
    for await (const path of paths) {
      try {
        const stored = await attempt(undefined, () => read(path));
        if (!stored?.key.isWithin(scope)) continue;
        infos.push({ key: stored.key, version: stored.version, updatedAt: stored.updatedAt });
      } catch (error) {
        if (!SessionStoreError.isInstance(error)) throw error;
        errors.push(error);
      }
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
