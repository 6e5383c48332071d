import type { AgentState, PendingApproval, PendingCall, ToolUseBlock } from '@x/core';
import { openCalls } from './open-calls.js';

/** Keeps what is asked of a human in the state. */
export function setPending(state: AgentState, approvals: readonly PendingApproval[]): void {
  const { pending, ...rest } = state.permissionContext;
  if (approvals.length === 0 && pending === undefined) return;
  state.permissionContext = approvals.length === 0 ? rest : { ...rest, pending: [...approvals] };
}

/** Forgets the approvals of calls that have their result, or are gone. */
export function prunePending(state: AgentState): void {
  const { pending } = state.permissionContext;
  if (pending === undefined) return;
  const open = new Set(openCalls(state.context).map(({ id }) => id));
  if (pending.some(({ toolUseId }) => !open.has(toolUseId))) {
    setPending(
      state,
      pending.filter(({ toolUseId }) => open.has(toolUseId)),
    );
  }
}

/** The tool calls of a session that wait for a human's decision, in the order in which the model made them. */
export function pendingCalls(state: AgentState): readonly PendingCall[] {
  const { pending } = state.permissionContext;
  if (pending === undefined) return [];
  const undecided = new Map(
    pending.flatMap((entry) => (entry.decision ? [] : [[entry.toolUseId, entry] as const])),
  );
  return openCalls(state.context).flatMap((call) => {
    const approval = undecided.get(call.id);
    return approval ? [pendingCall(call, approval)] : [];
  });
}

export function pendingCall(call: ToolUseBlock, approval: PendingApproval): PendingCall {
  const { askedAt, reason, suggestion } = approval;
  return {
    ...call,
    askedAt,
    ...(reason === undefined ? {} : { reason }),
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}
