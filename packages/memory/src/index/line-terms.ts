import { indexTermsOf } from './terms.js';

/** No term has it: letters, digits and underscores are all that they are made of. */
const REPEAT_MARK = '+';
const MAX_REPEATS = 6;

/** What the full-text index holds of a line. */
export interface LineTerms {
  /** How often each term occurs. */
  readonly frequencies: ReadonlyMap<string, number>;
  /** The line's length as BM25 counts it. */
  readonly length: number;
  /** The terms in their order; behind them, those that repeat with a mark for every further time. */
  readonly entries: readonly string[];
}

export function lineTermsOf(content: string): LineTerms {
  const entries = indexTermsOf(content);
  const frequencies = new Map<string, number>();
  for (const term of [...entries]) {
    const frequency = (frequencies.get(term) ?? 0) + 1;
    frequencies.set(term, frequency);
    if (frequency > 1 && frequency <= MAX_REPEATS) entries.push(repeated(term, frequency));
  }
  return { frequencies, length: entries.length, entries };
}

/** The entry of a line in which a term occurs so often, or more often. */
export function repeated(term: string, times: number): string {
  return term + REPEAT_MARK.repeat(times - 1);
}

/** How often a term may be said to be repeated. */
export const repeatLevels: readonly number[] = Array.from({ length: MAX_REPEATS }, (_, index) => index + 1);
