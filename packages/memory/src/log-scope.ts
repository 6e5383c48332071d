import { type AgentState, CapabilityError, fileSegment, type RuntimeContext, type SessionLog } from '@x/core';
import { isCommon, LOG_SUFFIX, scopePrefix, type WithoutUser } from './memory-scope.js';

const OWN_AGENT = /^(?:agents\/[^/]+\/)?$/;

/** Where in the workspace lies what belongs to the tenant, user and agent of a call. */
export interface LogScope {
  /** Empty, or ends with `/`. */
  readonly prefix: string;
  /** The directory of the session logs. */
  readonly sessions: string;
}

/** What tells whose a call is. */
interface OwnCall {
  readonly log: SessionLog;
  readonly state: AgentState;
}

interface AgentCall extends OwnCall {
  readonly runtime: RuntimeContext;
}

/**
 * The scope of a call, from where its own log lies: whatever a tool reads besides must lie there too, and nothing that a
 * model says can lead out of it. `undefined` when the log is no file of a workspace.
 */
export function logScopeOf({ log, state }: OwnCall): LogScope | undefined {
  const name = `sessions/${fileSegment(state.sessionId)}${LOG_SUFFIX}`;
  if (!log.location.endsWith(name)) return undefined;
  const prefix = log.location.slice(0, -name.length);
  if (prefix !== '' && !prefix.endsWith('/')) return undefined;
  return { prefix, sessions: `${prefix}sessions` };
}

/**
 * The scope of another agent of the call's own tenant and user; the call's own without `agentId`. `undefined` when the
 * call's log does not lie where this user's logs do: then there is no telling whose lies beside it. So too for a call
 * without a user, unless those share.
 */
export function logScopeOfAgent(
  call: AgentCall,
  withoutUser: WithoutUser,
  agentId: string | undefined,
): LogScope | undefined {
  const own = logScopeOf(call);
  if (own === undefined || !isCommon(own.prefix, withoutUser)) return undefined;
  if (agentId === undefined) return own;
  if (userPrefixOf(call) === undefined) return undefined;
  const { tenantId, userId } = call.runtime;
  const prefix = scopePrefix({ tenantId, userId, agentId });
  return { prefix, sessions: `${prefix}sessions` };
}

/** The directory of all agents of the call's tenant and user; `undefined` as for {@link logScopeOfAgent}. */
export function agentsFolderOf(call: AgentCall, withoutUser: WithoutUser): string | undefined {
  const user = userPrefixOf(call);
  return user === undefined || !isCommon(user, withoutUser) ? undefined : `${user}agents`;
}

function userPrefixOf(call: AgentCall): string | undefined {
  const { tenantId, userId } = call.runtime;
  const user = scopePrefix({ tenantId, userId });
  const own = logScopeOf(call)?.prefix;
  if (!own?.startsWith(user)) return undefined;
  return OWN_AGENT.test(own.slice(user.length)) ? user : undefined;
}

/**
 * Where the memory of a call's tenant, user and agent lies: beside its session logs.
 *
 * @throws {CapabilityError} when the log is no file of a workspace: then nothing says whose memory it would be.
 */
export function memoryPrefix(scope: { readonly log: SessionLog; readonly state: AgentState }): string {
  const found = logScopeOf(scope);
  if (found !== undefined) return found.prefix;
  throw new CapabilityError(
    'memory',
    `Memory needs session logs in a workspace, but this one is at ${scope.log.location}.`,
  );
}
