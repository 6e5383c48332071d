import type * as z from 'zod';
import { parseWith } from '../../config/parse.js';
import { SessionStoreError } from '../../errors/session-errors.js';
import { WorkspaceError } from '../../errors/workspace-error.js';
import { fileSegment } from '../../lib/encode-segment.js';
import type { Workspace } from '../../workspace/workspace.js';
import { collectionName, filledCollections } from '../collections.js';
import { type ListedSession, listAll } from '../listing.js';
import { checkScope, SessionKey, type SessionKeyParts, type SessionScope } from '../session-key.js';
import type { ListOptions, SessionInfo, SessionStore } from '../session-store.js';
import { checkFormat } from '../store-rules.js';

/** Error for a session file with invalid content. Reaches users as a `SessionStoreError`. */
export class DamagedFileError extends Error {
  constructor(path: string, reason: string, cause?: unknown) {
    super(`${path} ${reason}`, { cause });
  }
}

/** Schema and format of a file that describes a session. */
interface StoredForm<Stored> {
  /** Names the file in errors: `session manifest`. */
  readonly name: string;
  readonly schema: z.ZodType<Stored>;
  /** The format that this release reads. */
  readonly format: number;
}

/**
 * Parses a file that describes a session.
 *
 * @param owner The session that the file must belong to. Default: any session.
 * @throws {DamagedFileError} when the text is invalid, or belongs to another session.
 * @throws {SessionStoreError} `session_older` or `session_newer` when it has another format.
 */
export function parseStored<Stored extends { readonly key: unknown }>(
  path: string,
  text: string,
  { name, schema, format }: StoredForm<Stored>,
  owner?: SessionKey,
): Stored & { readonly key: SessionKey } {
  const read = () => {
    const data: unknown = JSON.parse(text);
    checkFormat(path, Object(data).format, format, '@x/core', owner);
    const stored = parseWith(schema, data, name);
    return { ...stored, key: SessionKey.of(stored.key as SessionKeyParts) };
  };
  let stored: ReturnType<typeof read>;
  try {
    stored = read();
  } catch (error) {
    if (SessionStoreError.isInstance(error)) throw error;
    throw new DamagedFileError(path, `is not a valid ${name} (${(error as Error).message})`, error);
  }
  if (owner === undefined || stored.key.equals(owner)) return stored;
  throw new DamagedFileError(path, `belongs to session ${stored.key}`);
}

/** Progress of a commit. It has no effect before its last file is created. */
export interface CommitProgress {
  outcome: 'none' | 'unknown';
}

/** Runs an operation of a file-based store and converts its errors to `SessionStoreError`. */
export async function asSessionStoreError<T>(
  key: SessionKey | undefined,
  operation: () => Promise<T>,
  progress?: CommitProgress,
): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw toSessionStoreError(key, error, progress?.outcome);
  }
}

/** Tests if a write failed because the disk or the quota is full. */
function isFull({ cause }: WorkspaceError): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((cause as { readonly code?: string } | undefined)?.code ?? '');
}

/** Deletes a session under its lock. If the disk is full, deletes it without the lock, because a lock file also needs space. */
export function deleteLocked(
  key: SessionKey,
  remove: () => Promise<boolean>,
  removeLocked: () => Promise<boolean>,
): Promise<boolean> {
  return asSessionStoreError(key, () =>
    removeLocked().catch((error: Error) => {
      if (WorkspaceError.isInstance(error) && isFull(error)) return remove();
      throw error;
    }),
  );
}

/** Returns the result of a read, or `undefined` if the file does not exist. */
export async function ifFound<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (WorkspaceError.isInstance(error) && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** Lists the sessions of a scope from the files at `paths`, like {@link listAll}. */
export async function* listSessions(
  paths: AsyncIterable<string>,
  scope: SessionScope,
  options: ListOptions | undefined,
  read: (path: string) => Promise<Omit<ListedSession, 'id'> | undefined>,
): AsyncGenerator<SessionInfo, void, undefined> {
  checkScope(scope);
  const infos: Omit<ListedSession, 'id'>[] = [];
  const errors: SessionStoreError[] = [];
  await asSessionStoreError(undefined, async () => {
    for await (const path of paths) {
      try {
        const stored = await asSessionStoreError(undefined, () => read(path));
        if (stored?.key.isWithin(scope)) infos.push(stored);
      } catch (error) {
        if (!SessionStoreError.isInstance(error)) throw error;
        errors.push(error);
      }
    }
  });
  yield* listAll(infos, options, errors);
}

function toSessionStoreError(
  key: SessionKey | undefined,
  error: unknown,
  outcome: CommitProgress['outcome'] = 'unknown',
): unknown {
  const subject = key === undefined ? 'A session' : `Session ${key}`;
  const details = { cause: error, sessionKey: key?.toString() };
  if (error instanceof DamagedFileError) {
    return new SessionStoreError(
      'session_corrupt',
      `${subject} is damaged: ${error.message}. Nothing was changed. Restore it from a backup, or delete the ` +
        'session to start again.',
      details,
    );
  }
  if (WorkspaceError.isInstance(error)) {
    return new SessionStoreError(
      'session_unavailable',
      `${subject} could not be read or written: ${error.message}`,
      // A full disk rejects a file before it gets its name. Other I/O errors, such as a lost connection, may be transient, so callers retry.
      { ...details, outcome: isFull(error) ? 'none' : error.code === 'workspace_io' ? 'unknown' : outcome },
    );
  }
  return error;
}

const LEVELS = [
  ['tenants', 'tenantId'],
  ['users', 'userId'],
  ['agents', 'agentId'],
] as const;

/**
 * Returns the directory prefix for the tenant, user and agent of a session:
 * `[tenants/<tenant>/][users/<user>/][agents/<agent>/]`, each only if the key has that part. Ends with `/` unless it is empty.
 */
export function sessionPrefix(key: SessionKey): string {
  const path = key.path;
  return LEVELS.map(([folder, part]) => (path[part] === undefined ? '' : `${folder}/${path[part]}/`)).join(
    '',
  );
}

/** The folder of all collections, inside the folder of a store. */
export const COLLECTIONS = 'collections';

/** Returns the folder of a collection, inside the folder of a store. */
export function collectionFolder(name: string): string {
  return `${COLLECTIONS}/${collectionName(name)}`;
}

/** Lists the names of non-empty collections in the folder of a store. */
export function collectionsIn(
  workspace: Workspace,
  open: (name: string) => SessionStore,
): AsyncGenerator<string, void, undefined> {
  const names = async function* () {
    for await (const { path, type } of workspace.list(COLLECTIONS))
      if (type === 'directory') yield path.slice(COLLECTIONS.length + 1);
  };
  return filledCollections(names(), open);
}

/**
 * Lists the entries of `folder` below every prefix that a scope allows. If the scope names the session, only its entry is
 * listed.
 */
export async function* listBelowPrefixes(
  workspace: Workspace,
  folder: string,
  scope: SessionScope,
): AsyncIterable<string> {
  const only = scope.sessionId === undefined ? '' : `/${fileSegment(scope.sessionId)}`;
  for await (const prefix of prefixesWithin(workspace, scope)) {
    for await (const { path, type } of workspace.list(`${prefix}${folder}`))
      if (type === 'directory' && path.endsWith(only)) yield path;
  }
}

/** Lists the directory prefixes of all tenants, users and agents in a workspace that a scope allows. */
export async function* prefixesWithin(
  workspace: Workspace,
  scope: SessionScope,
  prefix = '',
  level = 0,
): AsyncIterable<string> {
  if (LEVELS.slice(level).every(([, part]) => scope[part] === undefined)) yield prefix;
  for (const [index, [parent, part]] of LEVELS.entries()) {
    if (index < level) continue;
    const only = scope[part];
    if (only !== undefined) {
      yield* prefixesWithin(workspace, scope, `${prefix}${parent}/${fileSegment(only)}/`, index + 1);
      // The scope requires this part, so keys without it do not match.
      return;
    }
    for await (const { path, type } of workspace.list(`${prefix}${parent}`))
      if (type === 'directory') yield* prefixesWithin(workspace, scope, `${path}/`, index + 1);
  }
}
