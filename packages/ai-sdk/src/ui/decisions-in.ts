import type { UIMessageLike } from './ui-chunk.js';

type Approval = { readonly id: string; readonly approved?: boolean; readonly reason?: string };
type Decision =
  | { readonly type: 'approve' }
  | { readonly type: 'deny'; readonly reason?: string | undefined };

/**
 * Returns the decisions about pending tool calls that a person made on the page with `addToolApprovalResponse`. Pass them to
 * `agent.resumeStream`. Returns `undefined` if the last message has no decision.
 */
export function decisionsIn(
  messages: readonly UIMessageLike[],
): { readonly [approvalId: string]: Decision } | undefined {
  const parts = (messages.at(-1)?.parts ?? []) as readonly { state?: unknown; approval?: Approval }[];
  const decided = parts.flatMap(({ state, approval }): [string, Decision][] => {
    if (state !== 'approval-responded' || approval === undefined) return [];
    const { id, approved, reason } = approval;
    return [[id, approved === true ? { type: 'approve' } : { type: 'deny', reason }]];
  });
  return decided.length === 0 ? undefined : Object.fromEntries(decided);
}
