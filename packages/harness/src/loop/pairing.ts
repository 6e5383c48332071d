import { type Message, type ToolUseBlock, toolResultMessage, toolResultsOf, toolUsesOf } from '@x/core';

/** What the model reads in place of a result that never came. */
export const INTERRUPTED = {
  crash:
    'No result: the process stopped while this call was running. It may or may not have taken effect; check before you repeat it.',
  interrupted:
    'No result: the user interrupted before this call finished. It may or may not have taken effect.',
  shutdown:
    'No result: the agent was shut down before this call finished. It may or may not have taken effect.',
} as const;

/** Error results for calls that will not finish. */
export function closeDangling(
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
    repaired.push(...closeDangling([...open.values()], 'crash'));
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
