import type { RankedMention } from './ledger.js';

/**
 * The names most worth their tokens first: those that were said often and by whom it matters, then the later ones, and
 * of equals the shorter. The factors were fitted to recorded agent sessions, to hold as many as possible of the names
 * that a later tool call used; bare file names seldom matter where full paths are known.
 *
 * @param most How many to answer at most.
 */
export function rankMentions<Entry extends RankedMention>(
  mentions: Iterable<Entry>,
  now: number,
  most = Number.POSITIVE_INFINITY,
): readonly Entry[] {
  const all = [...mentions];
  const worths = new Float64Array(all.length);
  for (let index = 0; index < all.length; index++) worths[index] = worthOf(all[index] as Entry, now);
  // Only what can be among the first ones is put in order: a long conversation has thousands.
  const least =
    all.length > most ? (worths.toSorted()[all.length - most] as number) : Number.NEGATIVE_INFINITY;
  const first: number[] = [];
  for (let index = 0; index < all.length; index++) if ((worths[index] as number) >= least) first.push(index);
  return first
    .sort((left, right) => (worths[right] as number) - (worths[left] as number))
    .slice(0, most)
    .map((index) => all[index] as Entry);
}

function worthOf({ token, kind, weight, at }: RankedMention, now: number): number {
  const recency = 0.5 + 0.5 * 0.5 ** ((now - at) / 200);
  const price = Math.sqrt(token.length / 4 + 0.6);
  return (Math.log2(1 + weight) * kindFactor(token, kind) * recency) / price;
}

/** `read/write`: more often words side by side than a path. */
const ALTERNATIVES = /^[A-Za-z]+(?:\/[A-Za-z]+){1,2}$/;

function kindFactor(token: string, kind: RankedMention['kind']): number {
  if (kind === 'identifier') return 1;
  if (kind === 'id') return 0.4;
  if (ALTERNATIVES.test(token)) return 0.4;
  return token.includes('/') ? 0.7 : 0.2;
}
