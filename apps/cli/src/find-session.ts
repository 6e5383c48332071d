import { existsSync } from 'node:fs';
import { SessionKey, type SessionLog, type SessionScope, type SessionStore } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { UsageError, X } from './command.js';
import { openWorkspace } from './identity-options.js';

/**
 * The session that an id means: the one of exactly this owner, else the only one of whomever the scope leaves open, by its
 * whole id or, where none has that, by how its id begins.
 *
 * @returns the exact key if there is no such session.
 * @throws {UsageError} naming them where it could be several.
 */
export async function findSession(
  store: SessionStore,
  scope: Omit<SessionScope, 'sessionId'>,
  id: string,
): Promise<SessionKey> {
  const exact = SessionKey.of({ ...scope, sessionId: id });
  // One that cannot be read is there; the command says what is wrong with it.
  const isThere = await store.load(exact).then(
    (session) => session !== undefined,
    () => true,
  );
  if (isThere) return exact;
  const whole: SessionKey[] = [];
  const begun: SessionKey[] = [];
  try {
    for await (const { key } of store.list(scope)) {
      if (key.parts.sessionId === id) whole.push(key);
      else if (key.parts.sessionId.startsWith(id)) begun.push(key);
    }
  } catch (error) {
    // A store says which sessions are damaged after it has listed the others.
    if (whole.length + begun.length === 0) throw error;
  }
  const [found = exact, ...others] = whole.length > 0 ? whole : begun;
  if (others.length === 0) return found;
  const named = [found, ...others].slice(0, 5).map(({ parts }) => describeSession(parts));
  throw new UsageError(
    `${others.length + 1} sessions could be meant by "${id}": ${named.join('; ')}${others.length > 4 ? '; …' : ''}. ` +
      'Write the whole id, or name its owner with --agent, --user or --tenant.',
  );
}

/** A session's id, and whose it is. */
export function describeSession({ tenantId, userId, agentId, sessionId }: SessionKey['parts']): string {
  const owner = [tenantId, userId, agentId].filter((part) => part !== undefined).join(' / ');
  return owner === '' ? sessionId : `${sessionId}  (${owner})`;
}

/** Says that there is none. */
export function noSession({ parts }: SessionKey): UsageError {
  return new UsageError(`There is no session ${describeSession(parts)}. ${X} sessions lists them.`);
}

/** The log of a session, if it has one. It is in the workspace, wherever the session is stored. */
export async function findLog(
  values: { readonly workspace: string },
  key: SessionKey,
): Promise<SessionLog | undefined> {
  if (!existsSync(values.workspace)) return undefined;
  const workspace = openWorkspace(values);
  const log = new WorkspaceSessionLog(workspace, key);
  return (await workspace.stat(log.location)) === undefined ? undefined : log;
}
