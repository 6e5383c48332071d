import { headOf } from '../lib/text.js';
import type { SearchQuery, TermMatch } from './query.js';

/** The usual parameters k1 and b of BM25. All constants of this ranking were tuned on recorded conversations. */
const K1 = 1.2;
const B = 0.6;
/** Shares of a neighboring text's score that are added to a text, at a distance of 1, 2 and 3. */
export const NEIGHBORS = [0.2, 0.1, 0.05] as const;
/** When a text is ranked, both adjacent texts lose this share of the text's score, so that one passage does not fill the ranking. */
const TAKEN_BACK = 0.2;
/** Number of top ranks that are filled one by one, each time with reduced scores, and number of hits considered for them. */
const PICKED = 20;
const CONSIDERED = 100;
/** The score of the newest dated text is increased by this share. The increase halves every `HALF_LIFE_DAYS`. Undated texts get none. */
const RECENCY_BOOST = 0.1;
const HALF_LIFE_DAYS = 30;
/** Maximum number of matches kept during a scan, and the number that remain if there are more. */
const MAX_MATCHES = 10_000;
const KEPT_MATCHES = 1_000;
/** Maximum length in UTF-16 units of the pieces into which a long text is split. */
const MAX_PIECE = 2_000;

/** A text that is compared with a query: a line, a message or a passage. */
interface ScannedText<Item> {
  /** The file or session, and the position in it. If several texts have the same number, only the best is found. */
  readonly file: string | number;
  readonly number: number;
  readonly text: string;
  readonly item: Item;
  /** Days since 1970. */
  readonly day?: number | null;
  /** Among equal texts, the one with the larger order comes first. Default: the one added last. */
  readonly order?: number;
  /** Terms of the text that do not occur in it. */
  readonly extra?: readonly string[];
  /** The terms of the text if they are known, or those that are also in the query. The text is then not split into pieces. */
  readonly terms?: readonly string[];
  /** The number of terms in the text. Default: that of `terms`. */
  readonly length?: number;
}

/** A matching text. */
interface Hit<Item> extends TermMatch, Required<Omit<ScannedText<Item>, 'extra' | 'terms' | 'length'>> {
  /** The score of the text alone. */
  own: number;
  /** The score with its neighbors. */
  relevance: number;
  /** The score used for ranking. It is less than the relevance if a neighbor is ranked before it. */
  score: number;
  hasAll: boolean;
}

/** The statistics of the compared texts. */
export interface Collection {
  readonly lines: number;
  /** Average number of terms in a line. */
  readonly averageLength: number;
  /** For each query term, the number of lines that contain it. */
  readonly counts: readonly number[];
}

/** Returns the weight of each term of a query; rare terms weigh more (Robertson and Zaragoza, 2009). Never negative. */
export function termWeights({ terms }: SearchQuery, { counts, lines }: Collection): readonly number[] {
  return terms.map(({ weight }, index) => {
    const matching = counts[index] ?? 0;
    return weight * Math.log(1 + Math.max(0, lines - matching + 0.5) / (matching + 0.5));
  });
}

/**
 * Ranks texts by Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). For keywords, texts with all of them
 * come before texts with some. For a question, neighbors of a text add part of their score, because an answer often is next to the words of
 * its question. A text without any query word is found only if it follows a matching text.
 */
export class TextScan<Item> {
  readonly #query: SearchQuery;
  readonly #collection: Collection | undefined;
  readonly #counts: number[];
  #matches: Hit<Item>[] = [];
  #lines = 0;
  #terms = 0;
  #newest = -Infinity;
  /** The last text that contains a word of the query. */
  #last: { readonly file: string | number; readonly number: number } | undefined;

  /** @param collection Statistics of all texts, if only the most promising ones are added. Default: those of the added texts. */
  constructor(query: SearchQuery, collection?: Collection) {
    this.#query = query;
    this.#collection = collection;
    this.#counts = query.terms.map(() => 0);
  }

  /** Adds a text. Add the texts of a file in order. For a long text, the piece that matches best is found. */
  add(scanned: ScannedText<Item>): void {
    const { file, number, item, day = null, order = this.#lines, extra, terms, length: given } = scanned;
    for (const text of terms ? [scanned.text] : piecesOf(scanned.text)) {
      const { counts, isHit, length, names } = this.#query.match(text, extra, terms, given);
      this.#lines++;
      this.#terms += length;
      for (const index of counts?.keys() ?? [])
        if (counts?.[index] !== 0) this.#counts[index] = (this.#counts[index] as number) + 1;
      if (!isHit && !this.#query.isQuestion) continue;
      if (day !== null && day > this.#newest) this.#newest = day;
      // The answer to a question may come after its words.
      if (counts !== undefined) this.#last = { file, number };
      else if (file !== this.#last?.file || number - this.#last.number > NEIGHBORS.length) continue;
      const scores = { own: 0, relevance: 0, score: 0, hasAll: false };
      this.#matches.push({ counts, isHit, length, names, file, number, text, item, day, order, ...scores });
    }
    if (this.#matches.length > MAX_MATCHES) this.#matches = this.best().slice(0, KEPT_MATCHES);
  }

  /** Returns all matching texts, best first. */
  best(): Hit<Item>[] {
    const files = this.#scored();
    const hits = [...files.values()].flatMap((numbers) => [...numbers.values()]);
    if (!this.#query.isQuestion) return hits.filter(({ isHit }) => isHit).sort(compare);
    const ranked = hits.filter((hit) => {
      const numbers = files.get(hit.file);
      let isNearHit = hit.isHit;
      for (const [index, share] of NEIGHBORS.entries()) {
        const before = numbers?.get(hit.number - index - 1);
        const behind = hit.own > 0 ? numbers?.get(hit.number + index + 1) : undefined;
        hit.relevance += share * ((before?.own ?? 0) + (behind?.own ?? 0));
        isNearHit ||= before?.isHit === true || behind?.isHit === true;
      }
      hit.score = hit.relevance;
      return isNearHit;
    });
    const pool = ranked.sort(compare).splice(0, CONSIDERED);
    const best: Hit<Item>[] = [];
    while (best.length < PICKED && pool.length > 0) {
      const top = pool.reduce((one, other) => (compare(other, one) < 0 ? other : one));
      pool.splice(pool.indexOf(top), 1);
      best.push(top);
      for (const distance of [-1, 1]) {
        const next = files.get(top.file)?.get(top.number + distance);
        if (next) next.score -= TAKEN_BACK * top.own;
      }
    }
    return [...best, ...pool, ...ranked];
  }

  /** Scores the matches without their neighbors. Returns the best of each number, by file and number. */
  #scored(): ReadonlyMap<string | number, ReadonlyMap<number, Hit<Item>>> {
    const { terms, isQuestion } = this.#query;
    const seen = { lines: this.#lines, averageLength: this.#terms / this.#lines, counts: this.#counts };
    const { averageLength } = this.#collection ?? seen;
    const weights = termWeights(this.#query, this.#collection ?? seen);
    const named = this.#matches.reduce((bits, { names }) => bits | names, 0);
    const files = new Map<string | number, Map<number, Hit<Item>>>();
    for (const hit of this.#matches) {
      const { file, number, counts, length, names, day } = hit;
      const damping = K1 * (1 - B + (B * length) / Math.max(1, averageLength));
      hit.own = 0;
      for (const [index, weight] of weights.entries()) {
        const count = counts?.[index] ?? 0;
        const owners = terms[index]?.names ?? 0;
        // If a name such as `node-17` occurs as a whole in any text, its words count in no other text.
        if ((owners & named) !== 0 && (owners & names) === 0) continue;
        hit.own += (weight * count * (K1 + 1)) / (count + damping);
      }
      if (day !== null) hit.own *= 1 + RECENCY_BOOST * 2 ** ((day - this.#newest) / HALF_LIFE_DAYS);
      hit.relevance = hit.own;
      hit.score = hit.own;
      hit.hasAll = !isQuestion && terms.every(({ isExtra }, index) => isExtra || Boolean(counts?.[index]));
      const numbers = files.get(file) ?? new Map<number, Hit<Item>>();
      files.set(file, numbers);
      const known = numbers.get(number);
      if (known === undefined || compare(hit, known) < 0) numbers.set(number, hit);
    }
    return files;
  }
}

type Compared = Pick<Hit<unknown>, 'hasAll' | 'score' | 'order'>;

function compare(left: Compared, right: Compared): number {
  return Number(right.hasAll) - Number(left.hasAll) || right.score - left.score || right.order - left.order;
}

/** Splits a text into the pieces that are searched. Splits at a line break or space if the second half of a piece contains one. */
export function* piecesOf(text: string): Iterable<string> {
  if (text.length <= MAX_PIECE) {
    if (text.trim() !== '') yield text;
    return;
  }
  for (let rest = text.trim(); rest !== ''; ) {
    const head = headOf(rest, MAX_PIECE);
    const space = Math.max(head.lastIndexOf('\n'), head.lastIndexOf(' '));
    const end = head.length < rest.length && space > MAX_PIECE / 2 ? space : head.length;
    yield rest.slice(0, end);
    rest = rest.slice(end).trimStart();
  }
}
