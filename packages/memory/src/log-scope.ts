import { type AgentState, fileSegment, type SessionLog } from '@x/core';

export const LOG_SUFFIX = '.log.jsonl';

/** Where in the workspace lies what belongs to the tenant, user and agent of a call. */
export interface LogScope {
  /** Empty, or ends with `/`. */
  readonly prefix: string;
  /** The directory of the session logs. */
  readonly sessions: string;
}

/**
 * The scope of a call, from where its own log lies: whatever a tool reads besides must lie there too, and nothing that a
 * model says can lead out of it. `undefined` when the log is no file of a workspace.
 */
export function logScopeOf({
  log,
  state,
}: {
  readonly log: SessionLog;
  readonly state: AgentState;
}): LogScope | undefined {
  const name = `sessions/${fileSegment(state.sessionId)}${LOG_SUFFIX}`;
  if (!log.location.endsWith(name)) return undefined;
  const prefix = log.location.slice(0, -name.length);
  if (prefix !== '' && !prefix.endsWith('/')) return undefined;
  return { prefix, sessions: `${prefix}sessions` };
}
