import { createHash, randomUUID } from 'node:crypto';
import { type AgentState, type Message, type ToolResultBlock, type ToolUseBlock, toolUsesOf } from '@x/core';
import { type PendingApproval, sortedJson, timestamp } from '@x/core/internal';
import { pairingOf, toolResultBlock } from '@x/core/messages';

/** Finds the tool calls at the end of a conversation that have no result yet. Checks only the last step, because it runs in every step. */
export function openCalls(context: readonly Message[]): readonly ToolUseBlock[] {
  const last = context.findLastIndex(({ role }) => role !== 'tool');
  const step = context[last];
  if (step?.role !== 'assistant') return [];
  if (last === context.length - 1) return toolUsesOf(step);
  return pairingOf(context.slice(last)).open.get(0) ?? [];
}

/** Returns a hash of what a human sees of a call. Key order is ignored, because stores may change it. */
export function digestOf({ name, input }: Pick<ToolUseBlock, 'name' | 'input'>): string {
  return createHash('sha256')
    .update(sortedJson([name, input]))
    .digest('base64url');
}

/** Assigns the approvals of a state to open calls. Identical calls get theirs in order. */
export function approvalsOf(
  { permissionContext: { pending = [] } }: AgentState,
  calls: readonly ToolUseBlock[],
): ReadonlyMap<ToolUseBlock, readonly PendingApproval[]> {
  const left = new Set(pending);
  const assigned = new Map<ToolUseBlock, readonly PendingApproval[]>();
  if (left.size === 0) return assigned;
  for (const call of calls) {
    const digest = digestOf(call);
    const fitting = [...left].filter(
      (entry) => entry.toolUseId === call.id && (entry.digest === undefined || entry.digest === digest),
    );
    const own = fitting.find((entry) => entry.call === undefined);
    const mine = fitting.filter((entry) => entry === own || entry.call !== undefined);
    for (const entry of mine) left.delete(entry);
    if (mine.length > 0) assigned.set(call, mine);
  }
  return assigned;
}

/** Finds the open calls from the first one that waits for approval. None of them has begun, except in a subagent. */
export function waitingCalls(state: AgentState): readonly ToolUseBlock[] {
  const undecided = state.permissionContext.pending?.some(({ decision }) => decision === undefined) ?? false;
  const open = undecided ? openCalls(state.context) : [];
  const approvals = approvalsOf(state, open);
  const first = open.findIndex((call) => approvals.get(call)?.some(({ decision }) => decision === undefined));
  return first === -1 ? [] : open.slice(first);
}

/** Finds the open calls that will not finish. They may have begun when the process stopped. */
export function abandonedCalls(state: AgentState): readonly ToolUseBlock[] {
  const waiting = new Set(waitingCalls(state));
  return openCalls(state.context).filter((call) => !waiting.has(call));
}

export interface ResultMessage extends Message {
  readonly content: readonly [ToolResultBlock];
}

export function resultMessage(result: ToolResultBlock): ResultMessage {
  return { id: randomUUID(), role: 'tool', content: [result], createdAt: timestamp() };
}

/** Creates the error result of a call that did not run or did not finish. Its origin is `agent`, because the text is the harness's own. */
export function errorResult(call: ToolUseBlock, text: string): ResultMessage {
  return resultMessage({ ...toolResultBlock(call, text, true), origin: 'agent' });
}

/** Why calls have no result, for the model. */
const INTERRUPTED = {
  crash: 'the process that ran this call stopped, or lost the session to another process',
  lost: 'the process lost the session to another process before this call finished',
  interrupted: 'the user interrupted before this call finished',
  shutdown: 'the agent was shut down before this call finished',
  failed: 'the step failed before this call finished',
  timed_out: 'the time was up before this call finished',
} as const;

const NOT_BEGUN = 'No result: the step ended before this call could take effect.';

/**
 * Creates error results for calls that will not finish.
 *
 * @param began Ids of calls that may have taken effect. Default: all of them.
 */
export function errorResultsFor(
  calls: readonly ToolUseBlock[],
  reason: keyof typeof INTERRUPTED,
  began?: readonly string[],
): readonly Message[] {
  const begun = `No result: ${INTERRUPTED[reason]}. The call may or may not have taken effect. Check before you repeat it.`;
  return calls.map((call) => errorResult(call, began?.includes(call.id) === false ? NOT_BEGUN : begun));
}

/**
 * Restores the pairing of calls and results, each result right after its call. Removes stray results, and adds an error result for every
 * call without one. With `waiting`, calls at the very end stay open. Returns the same list if nothing was wrong.
 */
export function repairPairing(context: readonly Message[], waiting: boolean): readonly Message[] {
  const kept = withoutStrayResults(context);
  const { orphanCalls, open } = pairingOf(kept);
  const missing = new Map<number, readonly Message[]>();
  for (const index of [...orphanCalls.keys(), ...open.keys()]) {
    let end = index + 1;
    while (kept[end]?.role === 'tool') end++;
    if (waiting && end === kept.length) continue;
    missing.set(end - 1, errorResultsFor(openCalls(kept.slice(index, end)), 'crash'));
  }
  if (missing.size === 0) return kept;
  return kept.flatMap((message, index) => [message, ...(missing.get(index) ?? [])]);
}

function withoutStrayResults(context: readonly Message[]): readonly Message[] {
  const { orphanResults, scattered } = pairingOf(context);
  if (orphanResults.size + scattered.size === 0) return context;
  return context.flatMap((message, index) => {
    const orphans = orphanResults.get(index);
    const isApart = scattered.has(index);
    if (orphans === undefined && !isApart) return [message];
    const content = message.content.filter(
      (block) => !orphans?.has(block) && !(isApart && block.type === 'tool_result'),
    );
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}
