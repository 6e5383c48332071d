import {
  CapabilityError,
  decodeSegment,
  fileSegment,
  SessionKey,
  sessionPrefix,
  type ToolContext,
} from '@x/core';

/** Whose memory: every part is an arbitrary non-empty string, and an absent part differs from every string. */
export interface MemoryScope {
  readonly tenantId?: string | undefined;
  readonly userId?: string | undefined;
  readonly agentId?: string | undefined;
}

/** Whose memory is meant: a scope, or the prefix of its directory in the storage. */
export type MemoryPlace = MemoryScope | string;

/**
 * Where a memory lies in a storage: empty, or ends with `/`. Two scopes never share a place.
 * @throws {InvalidInputError} when a part is empty or not a string.
 */
export function scopePrefix(place: MemoryPlace): string {
  if (typeof place === 'string') return place;
  const { tenantId, userId, agentId } = place;
  return sessionPrefix(SessionKey.of({ tenantId, userId, agentId, sessionId: 'any' }));
}

/** Whether calls without a user share what is remembered, or each session has its own conversation alone. */
export type WithoutUser = 'private' | 'shared';

const OF_A_USER = /^(?:tenants\/[^/]+\/)?users\//;
const OWN_AGENT = /^(?:agents\/[^/]+\/)?$/;

/** Tests whether sessions at a prefix have anything in common: those of a user do, others only if they share. */
export function isCommon(prefix: string, withoutUser: WithoutUser): boolean {
  return withoutUser === 'shared' || OF_A_USER.test(prefix);
}

/** The files of one session within its scope: its log, and how far it has been flushed. */
export interface SessionPlace {
  readonly prefix: string;
  /** The session's id; of a very long one the name of its log. */
  readonly session: string;
  readonly log: string;
  readonly flushState: string;
}

export const LOG_SUFFIX = '.log.jsonl';
/** What is too long for a file name ends with this and a hash, and cannot be decoded. */
const CUT = '%_';

/** Answers the place of a session; of a log, whose name without its ending is that `segment`. */
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

/** What tells whose a call is. */
type OwnCall = Pick<ToolContext, 'log' | 'state'>;

/** Where lies what belongs to whom a call is for, told by its own log: no word of a model can lead out of it. */
function ownPrefix({ log, state }: OwnCall): string | undefined {
  const name = `sessions/${fileSegment(state.sessionId)}${LOG_SUFFIX}`;
  const prefix = log.location.endsWith(name) ? log.location.slice(0, -name.length) : undefined;
  return prefix === '' || prefix?.endsWith('/') ? prefix : undefined;
}

/**
 * The prefix of another agent of the call's own tenant and user; its own without `agentId`. `undefined` when its log does not lie
 * where theirs do, so that there is no telling whose lies beside it, and for a call without a user, unless those share.
 */
export function prefixOfAgent(
  call: OwnCall & Pick<ToolContext, 'runtime'>,
  withoutUser: WithoutUser,
  agentId: string | undefined,
): string | undefined {
  const own = ownPrefix(call);
  if (own === undefined || !isCommon(own, withoutUser)) return undefined;
  if (agentId === undefined) return own;
  const { tenantId, userId } = call.runtime;
  const user = scopePrefix({ tenantId, userId });
  const isTheirs = own.startsWith(user) && OWN_AGENT.test(own.slice(user.length));
  return isTheirs ? scopePrefix({ tenantId, userId, agentId }) : undefined;
}

/**
 * Where the memory of a call lies: beside its session logs.
 * @throws {CapabilityError} when the log is no file of a workspace: then nothing says whose memory it would be.
 */
export function memoryPrefix(call: OwnCall): string {
  const found = ownPrefix(call);
  if (found !== undefined) return found;
  throw new CapabilityError(
    'memory',
    `Memory needs session logs in a workspace, but this one is at ${call.log.location}.`,
  );
}
