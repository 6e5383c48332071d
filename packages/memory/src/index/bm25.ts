/** How soon repetition stops counting, and how much length does. */
export interface Bm25Parameters {
  readonly k1: number;
  readonly b: number;
}

/** The usual parameters, and those of SQLite. */
export const KEYWORDS: Bm25Parameters = { k1: 1.2, b: 0.75 };
/** Of questions the length of a line matters less: the best answers are seldom the shortest lines. */
export const QUESTIONS: Bm25Parameters = { k1: 1.2, b: 0.4 };

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
