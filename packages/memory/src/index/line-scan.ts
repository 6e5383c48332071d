import { type Match, type Ranked, rankMatches } from './rank.js';
import { type SearchQuery, TermMatcher } from './search-query.js';
import { piecesOf } from './terms.js';

/** So many matches are kept at most while scanning; the weaker ones go when there are more. */
const MAX_MATCHES = 10_000;
const KEPT_MATCHES = 1_000;

/** A text that passes by. */
type ScannedText = Pick<Match, 'file' | 'number' | 'day'> & { readonly text: string };
type Kept<Item> = Match & { readonly item: () => Item };

/** Ranks texts that pass by once, without an index, as an index of them does. */
export class LineScan<Item> {
  readonly #query: SearchQuery;
  readonly #matcher: TermMatcher;
  readonly #counts: number[];
  #matches: Kept<Item>[] = [];
  #lines = 0;
  #terms = 0;
  #order = 0;

  constructor(query: SearchQuery) {
    this.#query = query;
    this.#matcher = new TermMatcher(query);
    this.#counts = query.terms.map(() => 0);
  }

  /** Considers a text, those of a file in their order; `item` is asked for the part that matches. */
  add({ file, number, day, text }: ScannedText, item: (piece: string) => Item): void {
    for (const piece of piecesOf(text)) {
      const match = this.#matcher.match(piece, day);
      this.#lines++;
      this.#terms += match.length;
      for (const [index, count] of match.frequencies.entries()) {
        if (count > 0) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
      }
      const order = this.#order++;
      // Beside a hit, what has no word of a question may be its answer.
      if (match.isHit || this.#query.isQuestion)
        this.#matches.push({ ...match, file, number, day, order, item: () => item(piece) });
    }
    if (this.#matches.length > MAX_MATCHES)
      this.#matches = this.#ranked()
        .slice(0, KEPT_MATCHES)
        .map(({ match }) => match);
  }

  /** All texts that match, the best first. */
  best() {
    return this.#ranked().map(({ match: { item }, score }) => ({ item, score }));
  }

  #ranked(): readonly Ranked<Kept<Item>>[] {
    const averageLength = this.#terms / Math.max(1, this.#lines);
    const collection = { lines: this.#lines, averageLength, counts: this.#counts };
    return rankMatches(this.#matches, this.#query, collection);
  }
}
