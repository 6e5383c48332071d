import { existsSync } from 'node:fs';
import { SessionKey, type SessionLog, type SessionScope, type SessionStore } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { UsageError, X } from './command.js';
import { openWorkspace } from './identity-options.js';

/**
 * Finds a session by its id. Looks first for exactly this owner. Otherwise searches all owners in the scope, first for this id, then for
 * an id that begins with it.
 *
 * @returns the key of exactly this owner if no session matches.
 * @throws {UsageError} listing the candidates if there are several.
 */
export async function findSession(
  store: SessionStore,
  scope: Omit<SessionScope, 'sessionId'>,
  id: string,
): Promise<SessionKey> {
  const exact = SessionKey.of({ ...scope, sessionId: id });
  // A session that cannot be read exists; the command then reports the damage.
  const exists = await store.load(exact).then(
    (session) => session !== undefined,
    () => true,
  );
  if (exists) return exact;
  const byId: SessionKey[] = [];
  const byPrefix: SessionKey[] = [];
  try {
    for await (const { key } of store.list(scope)) {
      if (key.parts.sessionId === id) byId.push(key);
      else if (key.parts.sessionId.startsWith(id)) byPrefix.push(key);
    }
  } catch (error) {
    // A store reports damaged sessions after it has listed the others.
    if (byId.length + byPrefix.length === 0) throw error;
  }
  const [found = exact, ...others] = byId.length > 0 ? byId : byPrefix;
  if (others.length === 0) return found;
  const named = [found, ...others].slice(0, 5).map(({ parts }) => describeSession(parts));
  throw new UsageError(
    `"${id}" matches ${others.length + 1} sessions: ${named.join('; ')}${others.length > 4 ? '; …' : ''}. ` +
      'Write the whole id, or select the owner with --agent, --user or --tenant.',
  );
}

/** Returns a session's id with its owner. */
export function describeSession({ tenantId, userId, agentId, sessionId }: SessionKey['parts']): string {
  const owner = [tenantId, userId, agentId].filter((part) => part !== undefined).join(' / ');
  return owner === '' ? sessionId : `${sessionId}  (${owner})`;
}

/** Returns the error for a session that does not exist. */
export function noSession({ parts }: SessionKey): UsageError {
  return new UsageError(`There is no session ${describeSession(parts)}. ${X} sessions lists all sessions.`);
}

/** Finds the log of a session, if it has one. Logs are always in the workspace, wherever the session is stored. */
export async function findLog(
  values: { readonly workspace: string },
  key: SessionKey,
): Promise<SessionLog | undefined> {
  if (!existsSync(values.workspace)) return undefined;
  const workspace = openWorkspace(values);
  const log = new WorkspaceSessionLog(workspace, key);
  return (await workspace.stat(log.location)) === undefined ? undefined : log;
}
