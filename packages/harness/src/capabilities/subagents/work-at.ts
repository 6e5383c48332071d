import { type AgentEvent, type ApprovalDecision, type RuntimeContext, textOf, userMessage } from '@x/core';
import type { Decision, Reply } from '../../agent/call-options.js';
import type { HarnessAgent } from '../../agent/harness-agent.js';
import { HarnessError } from '../../errors/harness-error.js';
import type { TaskOutcome } from './runs.js';
import type { TaskOrder } from './task-runner.js';

const GO_ON = 'agent_spawn with its id lets it go on.';

/**
 * Lets an agent carry out an order, once, however often it is given: what an earlier process began is gone on with, and
 * what it finished is only read. Waits for `tell` after every event.
 */
export async function workAt(
  agent: HarnessAgent,
  { taskId, message, decisions }: TaskOrder,
  context: RuntimeContext,
  signal: AbortSignal,
  tell: (event: AgentEvent) => void | Promise<void>,
): Promise<TaskOutcome> {
  try {
    const state = await agent.state(context);
    const isBegun =
      state !== undefined &&
      (state.context.some(({ id }) => id === taskId) || (await agent.log(context).get(taskId)) !== undefined);
    const pending = new Set(state?.permissionContext.pending?.map(({ id }) => id));
    // Of an order that is carried out again, the decisions may have been taken in.
    const open = Object.entries(decisions ?? {}).filter(([id]) => pending.has(id));
    const given = Object.fromEntries(open.map(([id, decision]) => [id, toDecision(decision)]));
    const events = isBegun
      ? agent.resumeStream(context, { signal, decisions: given })
      : agent.stream(userMessage(message, { id: taskId }), context, { signal });
    for (;;) {
      const { done, value } = await events.next();
      if (done) return outcomeOf(value);
      await tell(value);
    }
  } catch (error) {
    if (!HarnessError.isInstance(error)) throw error;
    if (error.code === 'agent_closed') return { status: 'shutdown' };
    if (error.code !== 'nothing_to_resume') throw error;
    const last = (await agent.state(context))?.context.findLast(({ role }) => role === 'assistant');
    return { status: 'completed', result: last === undefined ? '' : textOf(last) };
  }
}

function toDecision(decision: ApprovalDecision): Decision {
  if (decision.type !== 'deny') return decision;
  return decision.message === '' ? { type: 'deny' } : { type: 'deny', reason: decision.message };
}

function outcomeOf({ stopReason, text: result, steps, pendingCalls }: Reply): TaskOutcome {
  if (stopReason === 'completed') return { status: 'completed', result };
  if (stopReason === 'permission_required') return { status: 'waiting', waitsFor: pendingCalls };
  if (stopReason === 'interrupted') return { status: 'cancelled', result };
  if (stopReason === 'shutdown') return { status: 'shutdown', result };
  const why: Partial<Record<typeof stopReason, string>> = {
    max_iterations: `It was stopped after ${steps} steps, as many as it may take. ${GO_ON}`,
    budget_exceeded: `It used up its budget. ${GO_ON}`,
  };
  return { status: 'failed', result, error: why[stopReason] ?? `It stopped: ${stopReason}. ${GO_ON}` };
}
