import {
  decodeSegment,
  fileSegment,
  type Message,
  messageSchema,
  type ToolContext,
  type Workspace,
  type WorkspaceEntry,
  WorkspaceError,
} from '@x/core';
import { readLines } from '@x/core/node';
import {
  agentsFolder,
  CUT,
  LOG_SUFFIX,
  placeOfLog,
  prefixOfAgent,
  type SessionPlace,
  type WithoutUser,
} from './memory-scope.js';

/** A session log, as a listing shows it. */
export interface LogEntry extends WorkspaceEntry {
  readonly place: SessionPlace;
}

/** Lists the session logs below a prefix. */
export async function* sessionLogs(
  workspace: Workspace,
  prefix: string,
): AsyncGenerator<LogEntry, void, undefined> {
  const start = `${prefix}sessions/`.length;
  for await (const entry of workspace.list(`${prefix}sessions`)) {
    if (entry.type !== 'file' || !entry.path.endsWith(LOG_SUFFIX)) continue;
    yield { ...entry, place: placeOfLog(prefix, entry.path.slice(start, -LOG_SUFFIX.length)) };
  }
}

/** A complete line of a session log. */
export interface LogLine {
  /** `undefined` when the line holds none. */
  readonly message: Message | undefined;
  /** Where the line begins and the next one does, in bytes. */
  readonly start: number;
  readonly end: number;
}

/** Reads a session log from the line that begins at `start`, in bytes; nothing of a log that does not exist. */
export async function* readLogFrom(
  workspace: Pick<Workspace, 'read'>,
  path: string,
  start: number,
): AsyncGenerator<LogLine, void, undefined> {
  try {
    for await (const { bytes, offset } of readLines(workspace, path, start)) {
      yield { message: parseMessage(bytes), start: offset, end: offset + bytes.length + 1 };
    }
  } catch (error) {
    if (!WorkspaceError.isInstance(error) || error.code !== 'not_found') throw error;
  }
}

/** Reads the messages of a session log, oldest first, each once. A line that a crash cut is left out. */
async function* readLog(workspace: Workspace, path: string): AsyncGenerator<Message, void, undefined> {
  const seen = new Set<string>();
  for await (const { message } of readLogFrom(workspace, path, 0)) {
    if (message === undefined || seen.has(message.id)) continue;
    seen.add(message.id);
    yield message;
  }
}

function parseMessage(bytes: Buffer): Message | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return messageSchema.safeParse(value).success ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}

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
 * Lists the sessions of this tenant and user, and of this agent unless another is named: the current one if it is among
 * them, then the others, the last changed first. Without a user the current one alone, unless those share.
 */
export async function listSessions(
  scope: Scope,
  withoutUser: WithoutUser,
  agentId?: string,
): Promise<LoggedSession[]> {
  const { storage } = scope;
  let current: LoggedSession | undefined = currentSession(scope);
  const prefix = prefixOfAgent(scope, withoutUser, agentId);
  if (prefix === undefined) return agentId === undefined ? [current] : [];
  if (!current.location.startsWith(`${prefix}sessions/`)) current = undefined;

  const others: (LoggedSession & { readonly updatedAt: string })[] = [];
  for await (const { path, modifiedAt: updatedAt, place } of sessionLogs(storage, prefix)) {
    if (path === current?.location) current = { ...current, updatedAt };
    else {
      const read = () => readLog(storage, path);
      others.push({ id: place.session, isCurrent: false, location: path, updatedAt, read });
    }
  }
  others.sort((left, right) => (left.updatedAt < right.updatedAt ? 1 : -1));
  return current === undefined ? others : [current, ...others];
}

/** Finds the session of an id. The id is only compared with those that exist: no path is made of it. */
export function findSession(sessions: readonly LoggedSession[], id: string): LoggedSession | undefined {
  const name = `/${fileSegment(id)}${LOG_SUFFIX}`;
  return (
    sessions.find((session) => session.id === id) ??
    sessions.find((session) => session.location.endsWith(name))
  );
}

/** Names some agents with which this tenant and user had sessions; none whose id is too long for a file name. */
export async function listAgents(scope: Scope, withoutUser: WithoutUser, limit: number): Promise<string[]> {
  const folder = agentsFolder(scope, withoutUser);
  const agents: string[] = [];
  for await (const { path, type } of folder === undefined ? [] : scope.storage.list(folder)) {
    if (agents.length === limit) break;
    const segment = path.slice(path.lastIndexOf('/') + 1);
    if (type !== 'directory' || segment.includes(CUT)) continue;
    if ((await scope.storage.stat(`${path}/sessions`)) !== undefined) agents.push(decodeSegment(segment));
  }
  return agents;
}

export function currentSession({ log, state }: Pick<Scope, 'log' | 'state'>): LoggedSession {
  return { id: state.sessionId, isCurrent: true, location: log.location, read: () => log.read() };
}
