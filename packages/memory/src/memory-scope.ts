import { fileSegment, SessionKey, sessionPrefix } from '@x/core';

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

/** The file names of one session within its scope. */
export interface SessionPlace {
  readonly prefix: string;
  /** The session's log. */
  readonly log: string;
  /** How far the session has been flushed. */
  readonly flushState: string;
}

const LOG_SUFFIX = '.log.jsonl';
export const FLUSH_FOLDER = 'memory/.flush';

export function sessionPlace(session: SessionKey): SessionPlace {
  const prefix = sessionPrefix(session);
  const segment = fileSegment(session.parts.sessionId);
  return {
    prefix,
    log: `${prefix}sessions/${segment}${LOG_SUFFIX}`,
    flushState: `${prefix}${FLUSH_FOLDER}/${segment}.json`,
  };
}
