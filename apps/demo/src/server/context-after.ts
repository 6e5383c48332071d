import { type ContextUsage, countMessage, type Message, type TokenCounter } from '@x/core';

/**
 * Measures the window after a compaction: counts the conversation anew, and takes all else from the measurement before.
 * `countMessage` remembers, so only what the compaction wrote is counted.
 */
export function contextAfter(
  before: ContextUsage,
  context: readonly Message[],
  counter: TokenCounter,
): ContextUsage {
  let summary = 0;
  let toolResults = 0;
  let conversation = 0;
  for (const message of context) {
    const tokens = countMessage(counter, message);
    if (message.kind === 'summary') summary += tokens;
    else if (message.role === 'tool') toolResults += tokens;
    else conversation += tokens;
  }
  const total = before.system + before.tools + before.reminders + summary + conversation + toolResults;
  return { ...before, summary, conversation, toolResults, total };
}
