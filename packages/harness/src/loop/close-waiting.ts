import { type AgentState, type Message, toolResultMessage } from '@x/core';
import { openCalls } from './open-calls.js';

const SKIPPED = 'Not run: the user went on before its turn came.';

/** Results for all open calls of a step that the user has left behind: none of them is run. */
export function closeWaiting(state: AgentState): readonly Message[] {
  const decisions = new Map(
    state.permissionContext.pending?.map((approval) => [approval.toolUseId, approval.decision]),
  );
  return openCalls(state.context).map((call) => {
    const decision = decisions.get(call.id);
    const text = decision?.type === 'deny' ? decision.message : SKIPPED;
    return toolResultMessage(call, text, { isError: true });
  });
}
