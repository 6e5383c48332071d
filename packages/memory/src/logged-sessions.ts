import { decodeSegment, fileSegment, type Message, type ToolContext } from '@x/core';
import { agentsFolderOf, logScopeOfAgent } from './log-scope.js';
import { CUT, LOG_SUFFIX, type WithoutUser } from './memory-scope.js';
import { readLogFile } from './read-log-file.js';

/** A session that has a log, within the scope of a call. */
export interface LoggedSession {
  /** The session's id; of a very long one the name of its log, which names it as well. */
  readonly id: string;
  readonly isCurrent: boolean;
  /** Where its log lies. */
  readonly location: string;
  /** ISO 8601, UTC; left out when the log is no file. */
  readonly updatedAt?: string;
  read(): AsyncIterable<Message>;
}

type Scope = Pick<ToolContext, 'log' | 'runtime' | 'state' | 'storage'>;

/**
 * The sessions of this tenant and user, and of this agent unless another is named: the current one if it is among them,
 * then the others, the last changed first. Without a user the current one alone, unless those share.
 */
export async function listSessions(
  scope: Scope,
  withoutUser: WithoutUser,
  agentId?: string,
): Promise<LoggedSession[]> {
  const { storage: workspace } = scope;
  const current = currentSession(scope);
  const directory = logScopeOfAgent(scope, withoutUser, agentId)?.sessions;
  if (directory === undefined) return agentId === undefined ? [current] : [];

  const others: (LoggedSession & { readonly updatedAt: string })[] = [];
  let updatedAt: string | undefined;
  for await (const { path, type, modifiedAt } of workspace.list(directory)) {
    if (type !== 'file' || !path.endsWith(LOG_SUFFIX)) continue;
    if (path === current.location) {
      updatedAt = modifiedAt;
      continue;
    }
    const id = idOf(path.slice(directory.length + 1, -LOG_SUFFIX.length));
    others.push({
      id,
      isCurrent: false,
      location: path,
      updatedAt: modifiedAt,
      read: () => readLogFile(workspace, path),
    });
  }
  others.sort((left, right) => (left.updatedAt < right.updatedAt ? 1 : -1));
  if (!current.location.startsWith(`${directory}/`)) return others;
  return [updatedAt === undefined ? current : { ...current, updatedAt }, ...others];
}

/** The session of that id, or `undefined`. The id is only compared with those that exist: no path is made of it. */
export function findSession(sessions: readonly LoggedSession[], id: string): LoggedSession | undefined {
  const segment = fileSegment(id);
  return (
    sessions.find((session) => session.id === id) ??
    sessions.find((session) => session.location.endsWith(`/${segment}${LOG_SUFFIX}`))
  );
}

/** Some agents with which this tenant and user had sessions; none whose id is too long for a file name. */
export async function listAgents(scope: Scope, withoutUser: WithoutUser, limit: number): Promise<string[]> {
  const folder = agentsFolderOf(scope, withoutUser);
  if (folder === undefined) return [];
  const agents: string[] = [];
  for await (const { path, type } of scope.storage.list(folder)) {
    if (agents.length === limit) break;
    const segment = path.slice(folder.length + 1);
    if (type !== 'directory' || segment.includes(CUT)) continue;
    if ((await scope.storage.stat(`${path}/sessions`)) !== undefined) agents.push(decodeSegment(segment));
  }
  return agents;
}

export function currentSession({ log, state }: Pick<Scope, 'log' | 'state'>): LoggedSession {
  return { id: state.sessionId, isCurrent: true, location: log.location, read: () => log.read() };
}

function idOf(segment: string): string {
  return segment.includes(CUT) ? segment : decodeSegment(segment);
}
