import type { SearchQuery, SearchTerm, TermMatch } from './search-query.js';

/** The usual parameters of BM25. They, and those below, are the same for every query and were chosen on one half of the data. */
const K1 = 1.2;
const B = 0.75;
/** What the scores of the lines beside a line count for it: those next to it, and up to three lines away. */
export const NEIGHBORS = [0.2, 0.1, 0.05] as const;
/** So much is taken back once the line next to it stands in the ranking itself, so that one passage does not fill it. */
const TAKEN_BACK = 0.2;
/** Places that are filled one by one for that reason, and lines that are looked at for them. */
const PICKED = 20;
const CONSIDERED = 100;
/** A line that literally has all names of the query counts so much more. */
const NAME_BOOST = 0.5;
/** The newest dated line counts so much more than one without a date, and half as much more every `HALF_LIFE` days. */
const RECENCY_BOOST = 0.1;
const HALF_LIFE_DAYS = 30;

/** A line, message or part of one, compared with a query. */
export interface Match extends TermMatch {
  /** What tells its file or session from others. */
  readonly file: string | number;
  /** Its place there. Matches with one number are parts of one text, of which the best counts. */
  readonly number: number;
  /** Days since 1970. */
  readonly day: number | null;
  /** Of equal matches the greater comes first. */
  readonly order: number;
}

/** What a match is compared with. */
export interface Collection {
  readonly lines: number;
  /** Terms of a line, on average. */
  readonly averageLength: number;
  /** Of each term of the query, how many lines have it. */
  readonly counts: readonly number[];
}

/** The greater the score, the better. */
export type Ranked<M> = { readonly match: M; readonly score: number };

/** A match with its score by its own words, and with what stands beside it. */
type Place<M> = { readonly match: M; readonly own: number; readonly tier: number; score: number };

/** What each term of a query weighs: rare ones more (Robertson and Zaragoza, 2009); never negative. */
export function termWeights(terms: readonly SearchTerm[], { counts, lines }: Collection): readonly number[] {
  return terms.map(({ weight }, index) => {
    const matching = counts[index] ?? 0;
    return weight * Math.log(1 + Math.max(0, lines - matching + 0.5) / (matching + 0.5));
  });
}

/**
 * Ranks lines, the best first: by Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). Of
 * keywords, lines with all of them come before lines with some. To a question, the lines beside a line count as well, for
 * less, since an answer often stands beside the words that were asked for; it may have none of them itself.
 */
export function rankMatches<M extends Match>(
  matches: readonly M[],
  query: SearchQuery,
  collection: Collection,
): readonly Ranked<M>[] {
  const files = ownScores(matches, query, collection);
  const places = [...files.values()].flatMap((numbers) => [...numbers.values()]);
  const isHit = ({ match }: Place<M>) => match.isHit;
  if (!query.isQuestion) return places.filter(isHit).sort(compare);
  const beside = ({ match: { file, number } }: Place<M>, distance: number) =>
    [number - distance, number + distance].flatMap((other) => files.get(file)?.get(other) ?? []);
  const ranked = places.filter((place) => {
    const near = NEIGHBORS.flatMap((share, index) => {
      const neighbors = beside(place, index + 1);
      for (const { own } of neighbors) place.score += share * own;
      return neighbors;
    });
    return isHit(place) || near.some(isHit);
  });
  const pool = ranked.sort(compare).splice(0, CONSIDERED);
  const best: Place<M>[] = [];
  while (best.length < PICKED && pool.length > 0) {
    const index = pool.reduce((top, place, at) => (compare(place, pool[top] as Place<M>) < 0 ? at : top), 0);
    const [place] = pool.splice(index, 1) as [Place<M>];
    best.push(place);
    for (const neighbor of beside(place, 1)) neighbor.score -= TAKEN_BACK * place.own;
  }
  return [...best, ...pool, ...ranked];
}

function compare(left: Place<Match>, right: Place<Match>): number {
  return right.tier - left.tier || right.score - left.score || right.match.order - left.match.order;
}

/** By file and number, the best of each number. */
function ownScores<M extends Match>(matches: readonly M[], query: SearchQuery, collection: Collection) {
  const weights = termWeights(query.terms, collection);
  const newest = matches.reduce((latest, { day }) => Math.max(latest, day ?? latest), -Infinity);
  const files = new Map<string | number, Map<number, Place<M>>>();
  for (const match of matches) {
    const { file, number, frequencies, length, names, day } = match;
    const damping = K1 * (1 - B + (B * length) / Math.max(1, collection.averageLength));
    let own = 0;
    let all = !query.isQuestion;
    for (const [index, weight] of weights.entries()) {
      const frequency = frequencies[index] ?? 0;
      if (frequency > 0) own += weight * ((frequency * (K1 + 1)) / (frequency + damping));
      else if (query.terms[index]?.isDate !== true) all = false;
    }
    own *= 1 + NAME_BOOST * names;
    if (day !== null) own *= 1 + RECENCY_BOOST * 2 ** ((day - newest) / HALF_LIFE_DAYS);
    const place = { match, own, score: own, tier: Number(all) };
    const numbers = files.get(file) ?? new Map<number, Place<M>>();
    files.set(file, numbers);
    const known = numbers.get(number);
    if (known === undefined || compare(place, known) < 0) numbers.set(number, place);
  }
  return files;
}
