import type { Message, ToolContext, Workspace } from '@x/core';
import { readLog } from '@x/core/node';
import { fileSegment } from '@x/core/store';
import { isCommon, LOG_SUFFIX, ownPrefix, placeOfLog, type WithoutUser } from './memory-scope.js';

/** Lists the session logs below a prefix. */
export async function* sessionLogs(workspace: Workspace, prefix: string) {
  const start = `${prefix}sessions/`.length;
  for await (const entry of workspace.list(`${prefix}sessions`)) {
    if (entry.type !== 'file' || !entry.path.endsWith(LOG_SUFFIX)) continue;
    yield { ...entry, place: placeOfLog(prefix, entry.path.slice(start, -LOG_SUFFIX.length)) };
  }
}

/** A session in the scope of a call that has a log. */
export interface LoggedSession {
  /** The session's id. For a very long id, the name of its log, which also identifies the session. */
  readonly id: string;
  readonly isCurrent: boolean;
  /** The path of its log. */
  readonly location: string;
  /** ISO 8601, UTC; missing if the log is not a file. */
  readonly updatedAt?: string;
  read(): AsyncIterable<Message>;
}

type Scope = Pick<ToolContext, 'log' | 'state' | 'storage'>;

/** Lists the sessions of the call's tenant, user and agent: the current one first, then the most recently changed. */
export async function listSessions(scope: Scope, withoutUser: WithoutUser): Promise<LoggedSession[]> {
  const { storage } = scope;
  let current = currentSession(scope);
  const prefix = ownPrefix(scope);
  if (prefix === undefined || !isCommon(prefix, withoutUser)) return [current];
  const others: (LoggedSession & { readonly updatedAt: string })[] = [];
  for await (const { path: location, modifiedAt: updatedAt, place } of sessionLogs(storage, prefix)) {
    const read = () => readLog(storage, location);
    if (location === current.location) current = { ...current, updatedAt };
    else others.push({ id: place.session, isCurrent: false, location, updatedAt, read });
  }
  others.sort((left, right) => (left.updatedAt < right.updatedAt ? 1 : -1));
  return [current, ...others];
}

/** Finds a session by id. The id is only compared with existing sessions: no path is built from it. */
export function findSession(sessions: readonly LoggedSession[], id: string): LoggedSession | undefined {
  const name = `/${fileSegment(id)}${LOG_SUFFIX}`;
  const isLog = ({ location }: LoggedSession) => location.endsWith(name);
  return sessions.find((session) => session.id === id) ?? sessions.find(isLog);
}

export function currentSession({ log, state }: Pick<Scope, 'log' | 'state'>): LoggedSession {
  return { id: state.sessionId, isCurrent: true, location: log.location, read: () => log.read() };
}
