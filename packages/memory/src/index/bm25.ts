/** How soon repetition stops counting, and how much length does. */
export interface Bm25Parameters {
  readonly k1: number;
  readonly b: number;
}

/** The usual parameters, and those of SQLite. */
export const USUAL: Bm25Parameters = { k1: 1.2, b: 0.75 };
/** For questions the length of a line matters less: the best answers are seldom the shortest lines. */
const FOR_QUESTIONS: Bm25Parameters = { k1: 1.2, b: 0.4 };

export function parametersOf({ isQuestion }: { readonly isQuestion: boolean }): Bm25Parameters {
  return isQuestion ? FOR_QUESTIONS : USUAL;
}

/**
 * What `frequency` occurrences of a term count in a text, before the term's weight: Okapi BM25 (Robertson and Zaragoza,
 * "The Probabilistic Relevance Framework", 2009).
 */
export function saturation(
  frequency: number,
  length: number,
  averageLength: number,
  { k1, b }: Bm25Parameters,
): number {
  return (frequency * (k1 + 1)) / (frequency + k1 * (1 - b + (b * length) / averageLength));
}

/** The weight of a term that `matching` of `texts` texts have; never negative. */
export function inverseFrequency(matching: number, texts: number): number {
  return Math.log(1 + (texts - matching + 0.5) / (matching + 0.5));
}

/** The same as SQLite's own ranking has it: next to nothing for what half of the texts have. */
export function sqliteInverseFrequency(matching: number, texts: number): number {
  return Math.max(1e-6, Math.log((texts - matching + 0.5) / (matching + 0.5)));
}
