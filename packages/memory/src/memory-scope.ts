import { CapabilityError, SessionKey, type ToolContext } from '@x/core';
import { decodeSegment } from '@x/core/internal';
import { fileSegment, sessionPrefix } from '@x/core/store';

/** The owner of a memory. Each part is any non-empty string. An absent part differs from every string. */
export interface MemoryScope {
  readonly tenantId?: string | undefined;
  readonly userId?: string | undefined;
  readonly agentId?: string | undefined;
}

/** A scope, or the prefix of its directory in the storage. */
export type MemoryPlace = MemoryScope | string;

/**
 * Returns the directory of a memory in the storage: empty, or ends with `/`. Two scopes never share a directory.
 * @throws {InvalidInputError} when a part is empty or not a string.
 */
export function scopePrefix(place: MemoryPlace): string {
  if (typeof place === 'string') return place;
  const { tenantId, userId, agentId } = place;
  return sessionPrefix(SessionKey.of({ tenantId, userId, agentId, sessionId: 'any' }));
}

/** Whether calls without a user share one memory, or have none. */
export type WithoutUser = 'private' | 'shared';

const OF_A_USER = /^(?:tenants\/[^/]+\/)?users\//;

/** Tests whether the sessions at a prefix share a memory. Sessions of a user do. Others do only if `withoutUser` is `shared`. */
export function isCommon(prefix: string, withoutUser: WithoutUser): boolean {
  return withoutUser === 'shared' || OF_A_USER.test(prefix);
}

/** The files of one session within its scope: its log, and its flush progress. */
export interface SessionPlace {
  readonly prefix: string;
  /** The session's id. For a very long id, the name of its log. */
  readonly session: string;
  readonly log: string;
  readonly flushState: string;
}

export const LOG_SUFFIX = '.log.jsonl';
/** Marks a shortened id: an id that is too long for a file name becomes its beginning, this marker and a hash. It cannot be decoded. */
const CUT = '%_';

/** Returns the files of a session by `segment`, the name of its log without the suffix. */
export function placeOfLog(prefix: string, segment: string): SessionPlace {
  return {
    prefix,
    session: segment.includes(CUT) ? segment : decodeSegment(segment),
    log: `${prefix}sessions/${segment}${LOG_SUFFIX}`,
    flushState: `${prefix}memory/.flush/${segment}.json`,
  };
}

export function placeOfSession(session: SessionKey): SessionPlace {
  const { sessionId } = session.parts;
  return { ...placeOfLog(sessionPrefix(session), fileSegment(sessionId)), session: sessionId };
}

/** The part of a call that identifies its user. */
type OwnCall = Pick<ToolContext, 'log' | 'state'>;

/** Returns the memory directory of the call's user. It is derived from the log's path, never from model output. */
export function ownPrefix({ log, state }: OwnCall): string | undefined {
  const name = `sessions/${fileSegment(state.sessionId)}${LOG_SUFFIX}`;
  const prefix = log.location.endsWith(name) ? log.location.slice(0, -name.length) : undefined;
  return prefix === '' || prefix?.endsWith('/') ? prefix : undefined;
}

/**
 * Returns the memory directory of a call, which also holds its session logs.
 * @throws {CapabilityError} when the log is not a file of a workspace, so that the user's directory is unknown.
 */
export function memoryPrefix(call: OwnCall): string {
  const found = ownPrefix(call);
  if (found !== undefined) return found;
  throw new CapabilityError(
    'memory',
    `Memory needs session logs in a workspace, but the log of this session is at ${call.log.location}. Give the agent a workspace.`,
  );
}
