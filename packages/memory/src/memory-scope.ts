import { decodeSegment, fileSegment, SessionKey, sessionPrefix } from '@x/core';

/** Whose memory: every part is an arbitrary non-empty string, and an absent part differs from every string. */
export interface MemoryScope {
  readonly tenantId?: string | undefined;
  readonly userId?: string | undefined;
  readonly agentId?: string | undefined;
}

/**
 * Where a scope's memory lies in a workspace: empty, or ends with `/`. Two scopes never share a place.
 *
 * @throws {InvalidInputError} when a part is empty or not a string.
 */
export function scopePrefix({ tenantId, userId, agentId }: MemoryScope): string {
  return sessionPrefix(SessionKey.of({ tenantId, userId, agentId, sessionId: 'any' }));
}

/** Whether calls without a user share what is remembered, or each session has its own conversation alone. */
export type WithoutUser = 'private' | 'shared';

const OF_A_USER = /^(?:tenants\/[^/]+\/)?users\//;

/** Tests whether sessions at a prefix have anything in common: those of a user do, others only if they share. */
export function isCommon(prefix: string, withoutUser: WithoutUser): boolean {
  return withoutUser === 'shared' || OF_A_USER.test(prefix);
}

/** The file names of one session within its scope. */
export interface SessionPlace {
  readonly prefix: string;
  /** The session's id; of a very long one the name of its log. */
  readonly session: string;
  /** The session's log. */
  readonly log: string;
  /** How far the session has been flushed. */
  readonly flushState: string;
}

export const LOG_SUFFIX = '.log.jsonl';
const FLUSH_FOLDER = 'memory/.flush';

export function sessionPlace(session: SessionKey): SessionPlace {
  return placeOf(sessionPrefix(session), fileSegment(session.parts.sessionId), session.parts.sessionId);
}

/** The place of the session whose log has that name, without its ending. */
export function placeOfLog(prefix: string, segment: string): SessionPlace {
  return placeOf(prefix, segment, segment.includes(CUT) ? segment : decodeSegment(segment));
}

/** What was too long for a file name cannot be decoded: it ends with a hash behind this. */
export const CUT = '%_';

function placeOf(prefix: string, segment: string, session: string): SessionPlace {
  return {
    prefix,
    session,
    log: `${prefix}sessions/${segment}${LOG_SUFFIX}`,
    flushState: `${prefix}${FLUSH_FOLDER}/${segment}.json`,
  };
}
