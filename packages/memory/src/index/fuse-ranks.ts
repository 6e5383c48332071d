import type { RankedLine } from './rank-lines.js';

/** Softens the difference between the first places, as the source has it. */
const CONSTANT = 60;

/**
 * One ranking of several, by the places of a line in them alone: reciprocal rank fusion (Cormack, Clarke and Büttcher,
 * 2009).
 */
export function fuseRanks(rankings: readonly (readonly RankedLine[])[], wanted: number): RankedLine[] {
  const fused = new Map<number, RankedLine>();
  for (const ranking of rankings) {
    for (const [place, line] of ranking.entries()) {
      const score = (fused.get(line.id)?.score ?? 0) + 1 / (CONSTANT + place + 1);
      fused.set(line.id, { ...line, score });
    }
  }
  return [...fused.values()]
    .sort((left, right) => right.score - left.score || right.id - left.id)
    .slice(0, wanted);
}
