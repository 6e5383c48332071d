import { type Message, toolResultsOf, toolUsesOf } from '@x/core';

/**
 * Counts calls and results that a provider would reject: a result that does not directly follow its call, or a call without a result.
 * Independent of the compactor's own check, so that it can test that check.
 */
export function pairingViolations(messages: readonly Message[]): number {
  let violations = 0;
  let waiting = new Set<string>();
  for (const message of messages) {
    const results = toolResultsOf(message);
    for (const { toolUseId } of results) if (!waiting.delete(toolUseId)) violations++;
    if (results.length > 0) continue;
    violations += waiting.size;
    waiting = new Set(toolUsesOf(message).map(({ id }) => id));
  }
  return violations + waiting.size;
}
