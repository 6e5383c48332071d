import { type AgentState, fileSegment, SessionKey, sessionPrefix } from '@x/core';

/** Where the plan of a session lies in the workspace: below `plans/`, apart from every other session's. */
export function planFileOf(agentId: string, { tenantId, userId, sessionId }: AgentState): string {
  const key = SessionKey.of({ tenantId, userId, agentId, sessionId });
  return `plans/${sessionPrefix(key)}${fileSegment(sessionId)}.md`;
}
