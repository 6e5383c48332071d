import { type AgentState, type Message, pairingOf, type ToolUseBlock, toolResultMessage } from '@x/core';

/** Finds the tool calls at the end of a conversation that have no result yet. Looks at the last step alone: it runs every step. */
export function openCalls(context: readonly Message[]): readonly ToolUseBlock[] {
  const last = context.findLastIndex(({ role }) => role !== 'tool');
  if (context[last]?.role !== 'assistant') return [];
  return pairingOf(context.slice(last)).open.get(0) ?? [];
}

/** Finds the open calls from the first that waits for a decision. None of them has begun. */
export function waitingCalls({ context, permissionContext }: AgentState): readonly ToolUseBlock[] {
  const undecided = new Set(
    permissionContext.pending?.flatMap((entry) => (entry.decision ? [] : [entry.toolUseId])),
  );
  const open = undecided.size === 0 ? [] : openCalls(context);
  const first = open.findIndex(({ id }) => undecided.has(id));
  return first === -1 ? [] : open.slice(first);
}

/** Finds the open calls that nobody will finish: they may have begun when the process stopped. */
export function abandonedCalls(state: AgentState): readonly ToolUseBlock[] {
  const waiting = new Set(waitingCalls(state));
  return openCalls(state.context).filter((call) => !waiting.has(call));
}

/** Texts that the model reads in place of a result that never came. */
const INTERRUPTED = {
  crash:
    'No result: the process stopped while this call was running. It may or may not have taken effect; check before you repeat it.',
  interrupted:
    'No result: the user interrupted before this call finished. It may or may not have taken effect.',
  shutdown:
    'No result: the agent was shut down before this call finished. It may or may not have taken effect.',
} as const;

/** Makes error results for calls that will not finish. */
export function errorResultsFor(
  calls: readonly ToolUseBlock[],
  reason: keyof typeof INTERRUPTED,
): readonly Message[] {
  return calls.map((call) => toolResultMessage(call, INTERRUPTED[reason], { isError: true }));
}

/**
 * Makes calls and results a bijection again, each result right behind its call: leaves out results that stand alone or
 * apart, and gives every call without a result an error result. With `waiting`, calls at the very end stay open. Returns
 * the same list when nothing was wrong.
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
    const content = message.content.filter((block) => {
      if (block.type === 'tool_result') return !isApart && !orphans?.has(block.toolUseId);
      if (block.type === 'opaque' && block.half === 'result') return !orphans?.has(block.callId ?? '');
      return true;
    });
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}
