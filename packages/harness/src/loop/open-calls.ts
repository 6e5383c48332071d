import { type AgentState, type Message, type ToolUseBlock, toolResultsOf, toolUsesOf } from '@x/core';

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
