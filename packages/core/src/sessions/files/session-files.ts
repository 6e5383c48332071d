import { SessionStoreError } from '../../errors/session-errors.js';
import { WorkspaceError } from '../../errors/workspace-error.js';
import { fileSegment } from '../../lib/encode-segment.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { SessionKey, SessionScope } from '../session-key.js';

/** Error for a session file with invalid content. Reaches users as a `SessionStoreError`. */
export class DamagedFileError extends Error {
  constructor(path: string, reason: string, cause?: unknown) {
    super(`${path} ${reason}`, { cause });
  }
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
export function isFull({ cause }: WorkspaceError): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((cause as { readonly code?: string } | undefined)?.code ?? '');
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
      // If the disk is full, the file never got its name, so nothing was written. Other I/O errors may be transient, so callers retry.
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
