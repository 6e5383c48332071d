import { type AgentState, CapabilityError, type SessionLog } from '@x/core';
import { logScopeOf } from '../log-scope.js';

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
