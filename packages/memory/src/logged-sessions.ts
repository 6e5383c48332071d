import { decodeSegment, fileSegment, type Message, type ToolContext } from '@x/core';
import { LOG_SUFFIX, logScopeOf } from './log-scope.js';
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

type Scope = Pick<ToolContext, 'log' | 'state' | 'workspace'>;

/** The sessions of this tenant, user and agent: the current one, then the others, the last changed first. */
export async function listSessions(scope: Scope): Promise<LoggedSession[]> {
  const { workspace } = scope;
  const current = currentSession(scope);
  const directory = logScopeOf(scope)?.sessions;
  if (directory === undefined) return [current];

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
  return [updatedAt === undefined ? current : { ...current, updatedAt }, ...others];
}

/** The session of that id, or `undefined`. The id is only compared with those that exist: no path is made of it. */
export async function findSession(scope: Scope, id: string): Promise<LoggedSession | undefined> {
  const sessions = await listSessions(scope);
  const segment = fileSegment(id);
  return (
    sessions.find((session) => session.id === id) ??
    sessions.find((session) => session.location.endsWith(`/${segment}${LOG_SUFFIX}`))
  );
}

export function currentSession({ log, state }: Scope): LoggedSession {
  return { id: state.sessionId, isCurrent: true, location: log.location, read: () => log.read() };
}

// What was too long for a file name cannot be decoded: it ends with a hash behind `%_`.
function idOf(segment: string): string {
  return segment.includes('%_') ? segment : decodeSegment(segment);
}
