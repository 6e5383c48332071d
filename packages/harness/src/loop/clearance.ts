import {
  errorText,
  type Objection,
  type PendingApproval,
  type Tool,
  type ToolScope,
  type ToolUseBlock,
} from '@x/core';
import { setPending } from './approvals.js';
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
  /** The text for the model. */
  readonly message: string;
}

/** The verdict on one tool call; `wait` for a human. */
export type CallVerdict = Allowed | Denied | { readonly type: 'wait'; readonly use: ToolUseBlock };

/** Finds out which of these calls may run, and keeps in the state which of them a human must decide on. */
export async function authorizeCalls(
  call: RunningCall,
  uses: readonly ToolUseBlock[],
  tools: ReadonlyMap<string, Tool>,
): Promise<readonly CallVerdict[]> {
  const { state } = call.scope;
  const known = new Map(state.permissionContext.pending?.map((entry) => [entry.toolUseId, entry]));
  const approvals: PendingApproval[] = [];
  const cleared: CallVerdict[] = [];
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

/** Finds the strictest objection of all capabilities: a denial, else a question, else none. */
async function authorize(
  call: RunningCall,
  use: ToolUseBlock,
  tool: Tool | undefined,
): Promise<Objection | undefined> {
  const scope: ToolScope = { ...call.scope, tool };
  const questions: Extract<Objection, { type: 'ask' }>[] = [];
  for (const capability of call.capabilities) {
    if (capability.authorize === undefined) continue;
    const objection = await ask(call, capability.name, async () => capability.authorize?.(use, scope));
    if (objection?.type === 'deny') return objection;
    if (objection) questions.push(objection);
  }
  const [first, ...others] = questions;
  if (first === undefined || others.length === 0) return first;
  // A rule would silence one of them alone, so none is suggested.
  const reasons = questions.flatMap(({ reason }) => reason ?? []);
  return { type: 'ask', ...(reasons.length > 0 ? { reason: reasons.join(' ') } : {}) };
}

/** Denies calls whose judgment fails: an error never allows. */
async function ask(
  call: RunningCall,
  source: string,
  judge: () => Promise<Objection | undefined>,
): Promise<Objection | undefined> {
  try {
    return await judge();
  } catch (error) {
    call.scope.signal.throwIfAborted();
    const message = errorText(error);
    call.emit({ type: 'warning', source, message: `A tool call could not be judged: ${message}` });
    return { type: 'deny', reason: `Whether it is allowed could not be found out: ${message}` };
  }
}
