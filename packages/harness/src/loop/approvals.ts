import { isDeepStrictEqual } from 'node:util';
import {
  type AgentEventBody,
  type AgentState,
  InvalidInputError,
  type Message,
  type PendingCall,
  type PermissionRule,
  type ToolUseBlock,
} from '@x/core';
import type { PendingApproval } from '@x/core/internal';
import type { Decision, Decisions } from '../agent/call-options.js';
import { HarnessError } from '../errors/harness-error.js';
import { parseRule } from '../lib/permission-rule.js';
import { approvalsOf, errorResult, openCalls } from './open-calls.js';

/** Stores pending approvals in the state. */
export function setPending(state: AgentState, approvals: readonly PendingApproval[]): void {
  const { pending, ...rest } = state.permissionContext;
  if (approvals.length === 0 && pending === undefined) return;
  state.permissionContext = approvals.length === 0 ? rest : { ...rest, pending: [...approvals] };
}

/** Removes approvals of calls that have a result or no longer exist. */
export function prunePending(state: AgentState): void {
  const { pending } = state.permissionContext;
  if (pending === undefined) return;
  const kept = [...approvalsOf(state, openCalls(state.context)).values()].flat();
  if (kept.length < pending.length)
    setPending(
      state,
      pending.filter((entry) => kept.includes(entry)),
    );
}

/**
 * Returns a session's tool calls that wait for approval, in the order in which the model made them; none if there is no session yet.
 *
 * @example
 * ```ts
 * for (const { approvalId, name } of pendingCalls(await agent.state(session))) console.log(name, approvalId);
 * ```
 */
export function pendingCalls(state: AgentState | undefined): readonly PendingCall[] {
  if (state?.permissionContext.pending === undefined) return [];
  const open = openCalls(state.context);
  const approvals = approvalsOf(state, open);
  return open.flatMap((call) =>
    (approvals.get(call) ?? [])
      .filter(({ decision }) => decision === undefined)
      .map((approval) => pendingCall(call, approval)),
  );
}

function pendingCall(call: ToolUseBlock, approval: PendingApproval): PendingCall {
  const { id: approvalId, askedAt, reason, suggestion } = approval;
  const rule = suggestion === undefined ? {} : { suggestion };
  return { ...call, ...approval.call, approvalId, askedAt, reason, ...rule };
}

type Outcome = Extract<AgentEventBody, { type: 'permission.decided' }>['decision'];

const OUTCOMES = { approve: 'approved', edit: 'edited', deny: 'denied' } as const;

/** Results that the model reads for calls that were not approved. */
const DENIED = {
  denied: 'The user denied this call. Do not try the same in another form: ask, or go on without it.',
  expired: 'Not run: nobody decided on this call in time. Ask again only if it is still needed.',
  superseded:
    'Not run: the user sent a new message instead of deciding on this call. Read that message first.',
} as const;

interface RecordOptions {
  readonly decisions: Decisions;
  /** Denies undecided calls, because the user sent a new message instead. */
  readonly superseding: boolean;
  /** Milliseconds after which a pending approval is denied; 0 for never. */
  readonly timeoutMs: number;
}

/**
 * Records decisions in the state until their calls run: the given ones, and denials due to a timeout or a new message. Returns the events
 * to emit.
 *
 * @throws {HarnessError} `not_pending` for a decision on a call that does not wait for one.
 * @throws {InvalidInputError} for an `always` or an input that cannot be stored.
 */
export function recordDecisions(
  state: AgentState,
  { decisions, superseding, timeoutMs }: RecordOptions,
): readonly AgentEventBody[] {
  refuseUnknown(state, decisions);
  const open = approvalsOf(state, openCalls(state.context));
  const approvals = [...open].flatMap(([call, entries]) =>
    entries.map((approval) => ({ call: { ...call, ...approval.call }, approval })),
  );

  const announcements: AgentEventBody[] = [];
  const rules: PermissionRule[] = [];
  const recorded = approvals.map(({ call, approval }): PendingApproval => {
    const given = Object.hasOwn(decisions, approval.id) ? decisions[approval.id] : undefined;
    const settled = settle(approval, given, { superseding, timeoutMs });
    if (settled === undefined) return approval;
    const rule = settled.outcome === 'approved' ? ruleOf(call, given, approval) : undefined;
    if (rule) rules.push(rule);
    announcements.push({
      type: 'permission.decided',
      call: pendingCall(call, approval),
      decision: settled.outcome,
      rule,
    });
    return { ...approval, decision: settled.decision };
  });
  setPending(state, recorded);
  keepRules(state, rules);
  // Checks that the state can be stored before anything runs: a decision that cannot be stored leaves its call waiting.
  if (announcements.length > 0) state.head();
  return announcements;
}

/** @throws {HarnessError} `not_pending` for a decision on a call that does not wait for one. */
export function refuseUnknown(state: AgentState, decisions: Decisions): void {
  const known = pendingCalls(state).map(({ approvalId }) => approvalId);
  const unknown = Object.keys(decisions).filter((id) => !known.includes(id));
  if (unknown.length === 0) return;
  throw new HarnessError(
    'not_pending',
    `No pending approval in session "${state.sessionId}" matches ${unknown.join(', ')}. Pending approvals: ${known.join(', ') || 'none'}. ` +
      'It may have been decided already. Read pendingCalls(await agent.state(context)), and decide by approvalId.',
  );
}

function settle(
  approval: PendingApproval,
  given: Decision | undefined,
  { superseding, timeoutMs }: Omit<RecordOptions, 'decisions'>,
): { readonly outcome: Outcome; readonly decision: PendingApproval['decision'] } | undefined {
  const undecided = approval.decision === undefined;
  if (undecided && timeoutMs > 0 && Date.now() - Date.parse(approval.askedAt) > timeoutMs) {
    return { outcome: 'expired', decision: { type: 'deny', message: DENIED.expired } };
  }
  if (given) return { outcome: OUTCOMES[given.type], decision: stored(given, approval) };
  if (!undecided || !superseding) return undefined;
  return { outcome: 'superseded', decision: { type: 'deny', message: DENIED.superseded } };
}

function stored(decision: Decision, { call }: PendingApproval): PendingApproval['decision'] {
  if (decision.type === 'approve') return { type: 'approve' };
  if (decision.type === 'edit') return { type: 'edit', input: decision.input };
  const { reason } = decision;
  // The subagent words the denial for its own model.
  if (call !== undefined) return { type: 'deny', message: reason ?? '' };
  return { type: 'deny', message: reason ? `The user denied this call: ${reason}` : DENIED.denied };
}

function ruleOf(
  call: ToolUseBlock,
  given: Decision | undefined,
  approval: PendingApproval,
): PermissionRule | undefined {
  if (given?.type !== 'approve' || !given.always) return undefined;
  const path = `${approval.id}.always`;
  // If there is no suggestion, an `ask` rule applies to every call, and overrides any rule that could be stored here.
  if (approval.suggestion === undefined) {
    throw new InvalidInputError('decisions', [
      { path, message: `calls of ${call.name} can only be approved one at a time; omit it` },
    ]);
  }
  return given.always === true ? approval.suggestion : parseRule(given.always, path, 'decisions');
}

function keepRules(state: AgentState, rules: readonly PermissionRule[]): void {
  const { allow } = state.permissionContext;
  const added = rules.filter(
    (rule, index) =>
      !allow.some((kept) => isDeepStrictEqual(kept, rule)) &&
      rules.findIndex((other) => isDeepStrictEqual(other, rule)) === index,
  );
  if (added.length === 0) return;
  state.permissionContext = { ...state.permissionContext, allow: [...allow, ...added] };
}

const SKIPPED = 'Not run: the user continued before this call started.';

const ABANDONED =
  'The subagent waited for approval of a call, but the user sent a new message instead. Read that message first. To let the ' +
  'subagent continue in another way, call agent_spawn with its id.';

/** Returns results for all open calls of a step that the user did not decide on. None of them runs. */
export function closeWaiting(state: AgentState): readonly Message[] {
  const open = openCalls(state.context);
  const approvals = approvalsOf(state, open);
  return open.map((call) => {
    const [first] = approvals.get(call) ?? [];
    const text =
      first?.call !== undefined
        ? ABANDONED
        : first?.decision?.type === 'deny'
          ? first.decision.message
          : SKIPPED;
    return errorResult(call, text);
  });
}
