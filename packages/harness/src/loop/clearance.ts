import { randomBytes } from 'node:crypto';
import {
  type Capability,
  InvalidInputError,
  type JsonValue,
  type Objection,
  type PendingCall,
  type Tool,
  type ToolScope,
  type ToolUseBlock,
} from '@x/core';
import {
  type ApprovalDecision,
  allOf,
  errorText,
  type PendingApproval,
  turnTaker,
  type WorkspaceConfine,
} from '@x/core/internal';
import type { ParsedLimits } from '../agent/limits.js';
import { hookInvalid } from '../errors/harness-error.js';
import { setPending } from './approvals.js';
import { hookResult } from './around.js';
import { approvalsOf, digestOf } from './open-calls.js';
import type { RunningCall } from './running-call.js';

/** A tool call that may run. */
export interface Allowed {
  readonly type: 'run';
  readonly use: ToolUseBlock;
  readonly tool: Tool | undefined;
  /** The call with the input that a human has changed. */
  readonly edited?: ToolUseBlock | undefined;
  /** Decisions on approvals that the tool requested in an earlier run, by approval id. */
  readonly decisions?: Readonly<Record<string, ApprovalDecision>> | undefined;
  /** Restricts the tool's access to files. */
  readonly confine?: WorkspaceConfine | undefined;
}

export interface Denied {
  readonly type: 'deny';
  readonly use: ToolUseBlock;
  /** The text for the model. */
  readonly message: string;
}

/** The verdict on one tool call; `wait` means that it needs approval. */
export type CallVerdict = Allowed | Denied | { readonly type: 'wait'; readonly use: ToolUseBlock };

/** Returns the error message that the model reads if its input is invalid. */
export function wrongInput(error: unknown): string {
  return `${errorText(error)}${InvalidInputError.isInstance(error) ? ' Correct the input and call the tool again.' : ''}`;
}

/** CPU time, in milliseconds, after which no further inputs of a step are checked. Wall time would also count other work of a busy machine. */
const CHECKS_MS = 500;
const UNCHECKED =
  'Not run: it took too long to check the inputs of the other calls. Send this call again, with fewer other calls.';

/**
 * Returns a function that checks the inputs of one step's calls. Schemas and inputs may be untrusted and slow to check. So the function
 * yields to other work between two checks, all checks of a step share one time limit, and an invalid input is checked only once.
 */
export function inputChecks(call: RunningCall) {
  const giveWay = turnTaker();
  const errors = new Map<ToolUseBlock, unknown>();
  let spentMs = 0;
  return async (use: ToolUseBlock, tool: Tool | undefined, input: JsonValue): Promise<JsonValue> => {
    if (tool?.parse === undefined) return input;
    await giveWay();
    if (errors.has(use)) throw errors.get(use);
    if (spentMs > CHECKS_MS) throw new Error(UNCHECKED);
    const began = process.cpuUsage();
    try {
      return await call.waitFor(`parse of "${use.name}"`, () => {
        try {
          return tool.parse?.(input) ?? input;
        } finally {
          const { user, system } = process.cpuUsage(began);
          spentMs += (user + system) / 1_000;
        }
      });
    } catch (error) {
      errors.set(use, error);
      throw error;
    }
  };
}

/** Creates the approvals that a tool requests for other calls, such as those of its subagent. */
export function approvalsFor(use: ToolUseBlock, calls: readonly PendingCall[]): readonly PendingApproval[] {
  return calls.map(({ approvalId, agentId = '', id, name, input, askedAt, reason, suggestion }) => ({
    id: approvalId,
    toolUseId: use.id,
    digest: digestOf(use),
    call: { agentId, id, name, input },
    askedAt,
    reason,
    suggestion,
  }));
}

/** Determines which of these calls may run, and stores pending approvals in the state for the others. */
export async function authorizeCalls(
  call: RunningCall,
  uses: readonly ToolUseBlock[],
  tools: ReadonlyMap<string, Tool>,
  check: ReturnType<typeof inputChecks>,
): Promise<readonly CallVerdict[]> {
  const { state } = call.scope;
  const known = approvalsOf(state, uses);
  const approvals: PendingApproval[] = [];
  const cleared: CallVerdict[] = [];
  for (const use of uses) {
    const tool = tools.get(use.name);
    const all = known.get(use) ?? [];
    const nested = all.filter((entry) => entry.call !== undefined);
    // If the tool has changed since, the approval is requested again.
    const approval = all.find((entry) => entry.call === undefined && entry.fingerprint === tool?.fingerprint);
    const decision = approval?.decision;
    if (approval && decision) approvals.push(approval);
    approvals.push(...nested);
    const decided = nested.flatMap(({ id, decision }) => (decision ? [[id, decision] as const] : []));
    if (nested.length > 0 && decided.length === 0) {
      cleared.push({ type: 'wait', use });
      continue;
    }
    if (decision?.type === 'deny') {
      cleared.push({ type: 'deny', use, message: decision.message });
      continue;
    }
    const edited = decision?.type === 'edit' ? { ...use, input: decision.input } : undefined;
    const asked = edited ?? use;
    let objection: Objection | undefined;
    try {
      // Rules judge the parsed input that the tool will get, because its schema may trim, replace or add values.
      const input = await check(use, tool, asked.input);
      const scope = { ...call.scope, tool };
      objection = await authorize(call.capabilities, { ...asked, input }, scope, call.settings.limits);
    } catch (error) {
      call.scope.signal.throwIfAborted();
      cleared.push({ type: 'deny', use, message: wrongInput(error) });
      continue;
    }
    if (objection?.type === 'deny') {
      cleared.push({ type: 'deny', use, message: objection.reason });
    } else if (objection?.type === 'ask' && decision === undefined) {
      const { reason, suggestion } = objection;
      approvals.push({
        id: approval?.id ?? randomBytes(6).toString('hex'),
        toolUseId: use.id,
        digest: digestOf(use),
        fingerprint: tool?.fingerprint,
        askedAt: approval?.askedAt ?? new Date().toISOString(),
        reason,
        suggestion,
      });
      cleared.push({ type: 'wait', use });
    } else {
      const decisions = decided.length > 0 ? Object.fromEntries(decided) : undefined;
      cleared.push({ type: 'run', use, tool, edited, decisions, confine: objection?.confine });
    }
  }
  setPending(state, approvals);
  return cleared;
}

/**
 * Returns the strictest objection of all capabilities: a denial, otherwise a question. Restrictions on files are combined.
 *
 * @param limits Limits of hooks; none if this runs within a hook.
 */
export async function authorize(
  capabilities: readonly Capability[],
  use: ToolUseBlock,
  scope: ToolScope,
  limits?: ParsedLimits,
): Promise<Objection | undefined> {
  const questions: Question[] = [];
  const confines: WorkspaceConfine[] = [];
  for (const capability of capabilities) {
    if (capability.authorize === undefined) continue;
    const judge = () => capability.authorize?.(use, scope);
    const objection = await ask(scope, capability.name, () =>
      limits === undefined
        ? judge()
        : hookResult({ name: `authorize of "${capability.name}"`, signal: scope.signal, limits }, judge),
    );
    if (objection?.type === 'deny') return objection;
    if (objection?.type === 'ask' && !questions.some((other) => isSame(other, objection))) {
      questions.push(objection);
    }
    if (objection?.confine) confines.push(objection.confine);
  }
  const confine = allOf(confines);
  const [first, ...others] = questions;
  if (first === undefined) return confine && { type: 'confine', confine };
  const reasons = questions.flatMap(({ reason }) => reason ?? []);
  for (const capability of capabilities) {
    if (!(await capability.unattended?.(scope))) continue;
    return { type: 'deny', reason: ['Denied: nobody can be asked.', ...reasons].join(' ') };
  }
  if (others.length === 0) return { ...first, confine };
  // A rule would answer only one of the questions, so no rule is suggested.
  return { type: 'ask', reason: reasons.join(' ') || undefined, confine };
}

type Question = Extract<Objection, { type: 'ask' }>;

function isSame(left: Question, right: Question): boolean {
  return JSON.stringify([left.reason, left.suggestion]) === JSON.stringify([right.reason, right.suggestion]);
}

const OBJECTIONS: ReadonlySet<unknown> = new Set<Objection['type']>(['deny', 'confine', 'ask']);

/** Runs a judgment. If it fails, the call is denied: an error never allows. */
async function ask(
  scope: ToolScope,
  source: string,
  judge: () => Objection | undefined | PromiseLike<Objection | undefined>,
): Promise<Objection | undefined> {
  try {
    const objection = await judge();
    if (objection == null || OBJECTIONS.has(objection.type)) return objection ?? undefined;
    throw hookInvalid(
      `authorize of "${source}"`,
      objection,
      "return nothing, or an objection: { type: 'deny', reason }",
    );
  } catch (error) {
    scope.signal.throwIfAborted();
    const message = errorText(error);
    scope.emit({ type: 'warning', source, message: `A tool call could not be judged: ${message}` });
    return { type: 'deny', reason: 'Denied: the permission check failed.' };
  }
}
