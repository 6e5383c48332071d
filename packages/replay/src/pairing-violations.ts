import { type Message, toolResultsOf, toolUsesOf } from '@x/core';

/**
 * Calls and results that a provider would refuse: a result that does not follow its call directly, or a call without a
 * result although the conversation continues. Written apart from the compactor's own check, so as to check that too.
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
