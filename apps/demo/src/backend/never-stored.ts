import { type Message, toolResultsOf, toolUsesOf } from '@x/core';

/**
 * The messages of a log that never became part of the conversation: a process logs a step before it stores it, and may
 * die in between. Whoever goes on knows nothing of that step and makes another one, so that it would be shown twice: as
 * calls that nobody ever answered, or as a second result of one call.
 *
 * @param logged Everything said, in order.
 * @param context What the conversation is now. What is missing there was reduced, unless it cannot have been: calls and
 * their results go together.
 */
export function neverStored(logged: readonly Message[], context: readonly Message[]): ReadonlySet<string> {
  const stored = new Set(context.map(({ id }) => id));
  const current = new Set(context.flatMap((message) => toolUsesOf(message)).map(({ id }) => id));
  const answered = new Set<string>();
  const lost = new Set<string>();
  // From the end: what answers a call stands behind it, and the last answer is the one that was stored.
  for (const message of logged.toReversed()) {
    const results = toolResultsOf(message).map(({ toolUseId }) => toolUseId);
    const repeated = results.length > 0 && results.every((call) => answered.has(call) || current.has(call));
    const unanswered = toolUsesOf(message).some((call) => !answered.has(call.id));
    if (!stored.has(message.id) && (unanswered || repeated)) lost.add(message.id);
    else for (const call of results) answered.add(call);
  }
  return lost;
}
