import type { Message, Redact } from '@x/core';
import { factsOf, weightOf } from './facts.js';
import type { RankedMention } from './ledger.js';
import { rankMentions } from './rank-mentions.js';

/** Of an output, this share at most is kept as names … */
const SHARE = 0.2;
/** … and this many UTF-16 units. */
const LONGEST = 800;

/**
 * The names that would vanish with these messages, each given to the newest message that has it: the most useful first,
 * a few for each message. Names that other messages still hold are left out.
 *
 * @param sizeOf UTF-16 units of what a message loses.
 */
export function namesOfOutputs(
  messages: readonly Message[],
  vanishing: ReadonlySet<Message>,
  sizeOf: (message: Message) => number,
  redact: Redact | undefined,
): ReadonlyMap<Message, string> {
  const factsAbout = (message: Message) => factsOf(message, vanishing.has(message) ? redact : undefined);
  const weights = new Map<string, RankedMention>();
  const held = new Set<string>();
  messages.forEach((message, at) => {
    const facts = factsAbout(message);
    for (const mention of facts.mentions) {
      const { token, kind } = mention;
      const weight = (weights.get(token)?.weight ?? 0) + weightOf(facts, mention);
      weights.set(token, { token, kind, weight, at });
      if (!vanishing.has(message)) held.add(token);
    }
  });
  const rank = new Map(
    rankMentions(weights.values(), messages.length).map(({ token }, index) => [token, index]),
  );

  const names = new Map<Message, string>();
  for (const message of messages.toReversed()) {
    if (!vanishing.has(message)) continue;
    const candidates = factsAbout(message)
      .mentions.filter(({ token }) => !held.has(token))
      .sort((left, right) => (rank.get(left.token) ?? 0) - (rank.get(right.token) ?? 0));
    let room = Math.min(LONGEST, sizeOf(message) * SHARE);
    const chosen: string[] = [];
    for (const { token } of candidates) {
      if (token.length + 1 > room) break;
      room -= token.length + 1;
      chosen.push(token);
      held.add(token);
    }
    if (chosen.length > 0) names.set(message, chosen.join(' '));
  }
  return names;
}
