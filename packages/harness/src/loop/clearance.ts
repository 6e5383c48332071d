import type { PendingApproval, Tool, ToolUseBlock } from '@x/core';
import { authorize } from './authorize.js';
import { setPending } from './pending-approvals.js';
import type { RunningCall } from './running-call.js';

/** A tool call that may run. */
export interface Allowed {
  readonly type: 'run';
  readonly use: ToolUseBlock;
  readonly tool: Tool | undefined;
  /** The call as a human has changed it. */
  readonly edited?: ToolUseBlock | undefined;
}

export interface Denied {
  readonly type: 'deny';
  readonly use: ToolUseBlock;
  /** What the model reads. */
  readonly message: string;
}

/** What is to become of one tool call; `wait` for a human. */
export type Clearance = Allowed | Denied | { readonly type: 'wait'; readonly use: ToolUseBlock };

/** Finds out which of these calls may run, and keeps in the state which of them a human must decide on. */
export async function clear(
  call: RunningCall,
  uses: readonly ToolUseBlock[],
  tools: ReadonlyMap<string, Tool>,
): Promise<readonly Clearance[]> {
  const { state } = call.scope;
  const known = new Map(state.permissionContext.pending?.map((entry) => [entry.toolUseId, entry]));
  const approvals: PendingApproval[] = [];
  const cleared: Clearance[] = [];
  for (const use of uses) {
    const approval = known.get(use.id);
    const decision = approval?.decision;
    const tool = tools.get(use.name);
    if (approval && decision) approvals.push(approval);
    if (decision?.type === 'deny') {
      cleared.push({ type: 'deny', use, message: decision.message });
      continue;
    }
    const edited = decision?.type === 'edit' ? { ...use, input: decision.input } : undefined;
    const objection = await authorize(call, edited ?? use, tool);
    if (objection?.type === 'deny') {
      cleared.push({ type: 'deny', use, message: objection.reason });
    } else if (objection && decision === undefined) {
      const { reason, suggestion } = objection;
      approvals.push({
        toolUseId: use.id,
        askedAt: approval?.askedAt ?? new Date().toISOString(),
        ...(reason === undefined ? {} : { reason }),
        ...(suggestion === undefined ? {} : { suggestion }),
      });
      cleared.push({ type: 'wait', use });
    } else {
      cleared.push({ type: 'run', use, tool, ...(edited ? { edited } : {}) });
    }
  }
  setPending(state, approvals);
  return cleared;
}
