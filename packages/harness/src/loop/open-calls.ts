import {
  type AgentState,
  type Message,
  type ToolUseBlock,
  toolResultMessage,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';

/** The tool calls at the end of a conversation that have no result yet. */
export function openCalls(context: readonly Message[]): readonly ToolUseBlock[] {
  const answered = new Set<string>();
  for (let index = context.length - 1; index >= 0; index--) {
    const message = context[index];
    if (message?.role === 'assistant') return toolUsesOf(message).filter(({ id }) => !answered.has(id));
    if (message?.role !== 'tool') return [];
    for (const { toolUseId } of toolResultsOf(message)) answered.add(toolUseId);
  }
  return [];
}

/** The open calls from the first that a human has yet to decide on: of these, nothing has begun. */
export function waitingCalls({ context, permissionContext }: AgentState): readonly ToolUseBlock[] {
  const undecided = new Set(
    permissionContext.pending?.flatMap((entry) => (entry.decision ? [] : [entry.toolUseId])),
  );
  const open = undecided.size === 0 ? [] : openCalls(context);
  const first = open.findIndex(({ id }) => undecided.has(id));
  return first === -1 ? [] : open.slice(first);
}

/** The open calls that nobody will finish: they may have begun when the process stopped. */
export function abandonedCalls(state: AgentState): readonly ToolUseBlock[] {
  const waiting = new Set(waitingCalls(state));
  return openCalls(state.context).filter((call) => !waiting.has(call));
}

/** What the model reads in place of a result that never came. */
const INTERRUPTED = {
  crash:
    'No result: the process stopped while this call was running. It may or may not have taken effect; check before you repeat it.',
  interrupted:
    'No result: the user interrupted before this call finished. It may or may not have taken effect.',
  shutdown:
    'No result: the agent was shut down before this call finished. It may or may not have taken effect.',
} as const;

/** Error results for calls that will not finish. */
export function errorResultsFor(
  calls: readonly ToolUseBlock[],
  reason: keyof typeof INTERRUPTED,
): readonly Message[] {
  return calls.map((call) => toolResultMessage(call, INTERRUPTED[reason], { isError: true }));
}

/**
 * Makes calls and results a bijection again, each result right behind its call: gives every unanswered call an error
 * result and leaves out results that answer nothing. With `waiting`, calls at the very end stay open. Returns the very list
 * when nothing was wrong.
 */
export function repairPairing(context: readonly Message[], waiting: boolean): readonly Message[] {
  const repaired: Message[] = [];
  let open = new Map<string, ToolUseBlock>();
  let changed = false;
  const closeOpen = () => {
    if (open.size === 0) return;
    changed = true;
    repaired.push(...errorResultsFor([...open.values()], 'crash'));
    open = new Map();
  };
  for (const message of context) {
    const results = toolResultsOf(message);
    if (results.length === 0) {
      closeOpen();
      repaired.push(message);
      open = new Map(toolUsesOf(message).map((call) => [call.id, call]));
      continue;
    }
    const matching = results.filter((result) => open.delete(result.toolUseId));
    if (matching.length === results.length) repaired.push(message);
    else {
      changed = true;
      const content = message.content.filter(
        (block) => block.type !== 'tool_result' || matching.includes(block),
      );
      if (content.length > 0) repaired.push({ ...message, content });
    }
  }
  if (!waiting) closeOpen();
  return changed ? repaired : context;
}
