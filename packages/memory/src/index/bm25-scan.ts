import { inverseFrequency, saturation, USUAL } from './bm25.js';
import { matchesTerm, type SearchTerm } from './search-query.js';
import { indexTermsOf } from './terms.js';

/** So many matches are kept at most while scanning; the weaker ones go when there are more. */
const MAX_MATCHES = 10_000;
const KEPT_MATCHES = 1_000;

interface Match<Item> {
  readonly item: Item;
  readonly length: number;
  /** How often each query term occurs. */
  readonly frequencies: readonly number[];
}

/**
 * Ranks texts that pass by once, without an index: Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance
 * Framework", 2009) over the texts that were added.
 */
export class Bm25Scan<Item> {
  readonly #terms: readonly SearchTerm[];
  readonly #documentFrequencies: number[];
  #matches: Match<Item>[] = [];
  #texts = 0;
  #totalLength = 0;
  #matched = 0;

  constructor(terms: readonly SearchTerm[]) {
    this.#terms = terms;
    this.#documentFrequencies = terms.map(() => 0);
  }

  /** How many texts had a term at least. */
  get matched(): number {
    return this.#matched;
  }

  /** Considers a text; `item` is asked for only when it matches. */
  add(text: string, item: () => Item): void {
    const terms = indexTermsOf(text);
    this.#texts++;
    this.#totalLength += terms.length;
    const frequencies = countTerms(this.#terms, terms);
    if (frequencies.every((count) => count === 0)) return;
    this.#matched++;
    for (const [index, count] of frequencies.entries()) {
      if (count > 0) this.#documentFrequencies[index] = (this.#documentFrequencies[index] ?? 0) + 1;
    }
    this.#matches.push({ item: item(), length: terms.length, frequencies });
    if (this.#matches.length > MAX_MATCHES) this.#matches = this.#ranked().slice(0, KEPT_MATCHES);
  }

  /** The best first; of equals the one that was added last. */
  best(limit: number, offset = 0): Item[] {
    return this.#ranked()
      .slice(offset, offset + limit)
      .map(({ item }) => item);
  }

  #ranked(): Match<Item>[] {
    const averageLength = this.#totalLength / Math.max(1, this.#texts);
    const weights = this.#documentFrequencies.map(
      (count, index) => (this.#terms[index]?.weight ?? 1) * inverseFrequency(count, this.#texts),
    );
    const score = ({ frequencies, length }: Match<Item>) =>
      frequencies.reduce(
        (sum, count, index) => sum + (weights[index] ?? 0) * saturation(count, length, averageLength, USUAL),
        0,
      );
    return this.#matches
      .map((match, order) => ({ match, order, score: score(match) }))
      .sort((left, right) => right.score - left.score || right.order - left.order)
      .map(({ match }) => match);
  }
}

function countTerms(wanted: readonly SearchTerm[], terms: readonly string[]): number[] {
  const counts = wanted.map(() => 0);
  for (const term of terms) {
    for (const [index, sought] of wanted.entries()) {
      if (matchesTerm(sought, term)) counts[index] = (counts[index] ?? 0) + 1;
    }
  }
  return counts;
}
