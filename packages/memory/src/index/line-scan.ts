import { type Match, NEIGHBORS, type Ranked, rankMatches } from './rank.js';
import { type SearchQuery, TermMatcher } from './search-query.js';
import { piecesOf } from './terms.js';

/** So many matches are kept at most while scanning; the weaker ones go when there are more. */
const MAX_MATCHES = 10_000;
const KEPT_MATCHES = 1_000;
const MAX_OTHERS = 4;

/** A text that passes by. */
export interface ScannedText {
  /** What tells its file or session from others. */
  readonly file: string;
  /** Its place there. */
  readonly number: number;
  /** Days since 1970. */
  readonly day: number | null;
  readonly text: string;
}

interface Kept<Item> extends Match {
  readonly item: Item;
}

/** Ranks texts that pass by once, without an index, as an index of them does. */
export class LineScan<Item> {
  readonly #query: SearchQuery;
  readonly #matcher: TermMatcher;
  readonly #counts: number[];
  #matches: Kept<Item>[] = [];
  #lines = 0;
  #terms = 0;
  #order = 0;
  #lastHit: { readonly file: string; readonly number: number } | undefined;
  /** The last texts without a word of the query: they count when the next one is a hit. */
  readonly #others: {
    readonly near: (file: string, number: number) => boolean;
    readonly keep: () => void;
  }[] = [];

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
      const keep = () => this.#matches.push({ ...match, file, number, day, order, item: item(piece) });
      if (match.isHit) {
        for (const { near, keep: keepOther } of this.#others.splice(0)) if (near(file, number)) keepOther();
        keep();
        this.#lastHit = { file, number };
      } else if (this.#lastHit?.file === file && number - this.#lastHit.number <= NEIGHBORS.length) keep();
      else {
        const near = (otherFile: string, other: number) =>
          otherFile === file && other - number <= NEIGHBORS.length;
        this.#others.push({ near, keep });
        if (this.#others.length > MAX_OTHERS) this.#others.shift();
      }
    }
    if (this.#matches.length > MAX_MATCHES)
      this.#matches = this.#ranked()
        .slice(0, KEPT_MATCHES)
        .map(({ match }) => match);
  }

  /** All texts that match, the best first. */
  best(): readonly { readonly item: Item; readonly score: number }[] {
    return this.#ranked().map(({ match, score }) => ({ item: match.item, score }));
  }

  #ranked(): readonly Ranked<Kept<Item>>[] {
    const averageLength = this.#terms / Math.max(1, this.#lines);
    const collection = { lines: this.#lines, averageLength, counts: this.#counts };
    return rankMatches(this.#matches, this.#query, collection);
  }
}
