import { parametersOf, saturation } from './bm25.js';
import { lengthOf } from './line-id.js';
import { repeatLevels } from './line-terms.js';
import type { RankContext } from './rank-lines.js';
import { expressionOf } from './search-query.js';

/** The ids of lines that match a full-text expression, the shortest first. */
export type Find = (expression: string, limit: number) => readonly number[];

/** Of more terms than this it is not asked how often a line repeats several of them. */
const MAX_COMBINED = 3;
/** Lines that repeat several terms more often than this are rare. */
const MAX_COMBINED_LEVEL = 2;
/** Of so many of the weightiest terms, lines with two of them are looked for. */
const PAIRED_TERMS = 6;
const MAX_PER_PAIR = 100;

/** About how good lines are: all that can be known of them without reading them. */
export type Estimates = ReadonlyMap<number, number>;

/**
 * Lines that have all terms. Of lines that have each term equally often the shortest are the best, so that it is enough
 * to look at the `limit` shortest of every combination; when there are few matches, these are all of them.
 */
export function linesWithAll(
  context: RankContext,
  phrases: readonly string[],
  limit: number,
  find: Find,
): Estimates {
  const { terms } = context.query;
  const sightings = new Sightings(terms.length);
  const add = (times: readonly number[]) => {
    const all = terms.map((term, index) => expressionOf(term, times[index]));
    const ids = find([...phrases, ...all].join(' AND '), limit);
    sightings.add(ids, times);
    return ids.length;
  };
  const once = terms.map(() => 1);
  if (add(once) < limit) return sightings.estimates(context);
  // How often each term is repeated at most, where all others are there too.
  const most = terms.map(({ prefix }, index) => {
    const levels = prefix ? [] : repeatLevels.slice(1);
    const beyond = levels.findIndex((level) => add(once.with(index, level)) === 0);
    return beyond < 0 ? levels.length + 1 : beyond + 1;
  });
  if (terms.length <= MAX_COMBINED) for (const times of combinations(most)) add(times);
  return sightings.estimates(context);
}

/** Lines that have some of the terms: the `limit` shortest of each, and those with two of the weightiest. */
export function linesWithSome(context: RankContext, limit: number, find: Find): Estimates {
  const { terms } = context.query;
  const isWeighty = terms.some(({ weight }) => weight === 1);
  const chosen = terms
    .map((term, index) => ({ term, index, weight: context.weights[index] ?? 0 }))
    .filter(({ term }) => !isWeighty || term.weight === 1)
    .sort((left, right) => right.weight - left.weight);

  const sightings = new Sightings(terms.length);
  const none = terms.map(() => 0);
  for (const { term, index } of chosen) {
    for (const level of term.prefix ? [1] : repeatLevels) {
      const ids = find(expressionOf(term, level), limit);
      if (ids.length === 0) break;
      sightings.add(ids, none.with(index, level));
    }
  }
  for (const [place, left] of chosen.slice(0, PAIRED_TERMS).entries()) {
    for (const right of chosen.slice(place + 1, PAIRED_TERMS)) {
      const both = `${expressionOf(left.term)} AND ${expressionOf(right.term)}`;
      sightings.add(find(both, Math.min(limit, MAX_PER_PAIR)), none.with(left.index, 1).with(right.index, 1));
    }
  }
  return sightings.estimates(context);
}

/** The ids that promise most. */
export function mostPromising(estimates: Estimates, count: number): readonly number[] {
  return [...estimates]
    .sort(([leftId, left], [rightId, right]) => right - left || rightId - leftId)
    .slice(0, count)
    .map(([id]) => id);
}

/** How often each term was seen in lines, at least. */
class Sightings {
  readonly #terms: number;
  readonly #times = new Map<number, Uint8Array>();

  constructor(terms: number) {
    this.#terms = terms;
  }

  add(ids: readonly number[], times: readonly number[]): void {
    for (const id of ids) {
      let seen = this.#times.get(id);
      if (seen === undefined) {
        seen = new Uint8Array(this.#terms);
        this.#times.set(id, seen);
      }
      for (const [index, level] of times.entries()) if (level > (seen[index] ?? 0)) seen[index] = level;
    }
  }

  estimates({ averageLength, query, weights }: RankContext): Estimates {
    const parameters = parametersOf(query);
    const estimates = new Map<number, number>();
    for (const [id, times] of this.#times) {
      const length = lengthOf(id);
      let score = 0;
      for (const [index, weight] of weights.entries()) {
        const frequency = times[index] ?? 0;
        if (frequency > 0) score += weight * saturation(frequency, length, averageLength, parameters);
      }
      estimates.set(id, score);
    }
    return estimates;
  }
}

/** All ways in which several terms occur more than once, none more often than it may. */
function combinations(most: readonly number[]): readonly (readonly number[])[] {
  return most
    .reduce<number[][]>(
      (made, limit) => {
        const levels = repeatLevels.slice(0, Math.min(limit, MAX_COMBINED_LEVEL));
        return made.flatMap((times) => levels.map((level) => [...times, level]));
      },
      [[]],
    )
    .filter((times) => times.filter((level) => level > 1).length > 1);
}
