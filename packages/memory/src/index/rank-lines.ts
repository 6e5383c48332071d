import { type Bm25Parameters, parametersOf, saturation } from './bm25.js';
import { lineTermsOf } from './line-terms.js';
import { matchesTerm, type SearchQuery, type SearchTerm } from './search-query.js';

/** A line that literally has all names of the query counts so much more. */
const NAME_BOOST = 0.5;
/** The newest dated line counts so much more than one without a date, and half as much more every `HALF_LIFE` days. */
const RECENCY_BOOST = 0.1;
const HALF_LIFE_DAYS = 30;
/** Of lines so close together, in characters, only the best is an answer to a question: the others stand around it. */
const PASSAGE_CHARS = 250;

/** A line as it is stored. */
export interface StoredLine {
  readonly id: number;
  readonly fileId: number;
  readonly path: string;
  readonly number: number;
  /** Days since 1970. */
  readonly day: number | null;
  readonly content: string;
}

export interface RankedLine extends StoredLine {
  /** The greater, the better. */
  readonly score: number;
}

export interface RankContext {
  readonly query: SearchQuery;
  /** Of each of the query's terms, how much a match of it weighs. */
  readonly weights: readonly number[];
  /** Terms of a line, on average. */
  readonly averageLength: number;
}

/** The `wanted` best of some lines, the best first; of equals the one with the greater id, which is shorter or newer. */
export function rankLines(lines: readonly StoredLine[], context: RankContext, wanted: number): RankedLine[] {
  const parameters = parametersOf(context.query);
  const newest = Math.max(...lines.map(({ day }) => day ?? Number.NEGATIVE_INFINITY));
  const ranked = lines.map((line) => ({
    ...line,
    score: scoreOf(line.content, context, parameters) * boostOf(line, context.query, newest),
  }));
  ranked.sort((left, right) => right.score - left.score || right.id - left.id);
  return context.query.isQuestion ? onePerPassage(ranked, wanted) : ranked.slice(0, wanted);
}

function scoreOf(content: string, context: RankContext, parameters: Bm25Parameters): number {
  const { frequencies, length } = lineTermsOf(content);
  return context.query.terms.reduce((score, term, index) => {
    const frequency = frequencyOf(term, frequencies);
    if (frequency === 0) return score;
    const weight = context.weights[index] ?? 0;
    return score + weight * saturation(frequency, length, context.averageLength, parameters);
  }, 0);
}

function frequencyOf(term: SearchTerm, frequencies: ReadonlyMap<string, number>): number {
  if (!term.prefix) return frequencies.get(term.text) ?? 0;
  let sum = 0;
  for (const [text, frequency] of frequencies) if (matchesTerm(term, text)) sum += frequency;
  return sum;
}

function boostOf({ content, day }: StoredLine, { names }: SearchQuery, newest: number): number {
  let boost = 1;
  if (names.length > 0) {
    const lower = content.toLowerCase();
    boost += (NAME_BOOST * names.filter((name) => lower.includes(name)).length) / names.length;
  }
  return day === null ? boost : boost * (1 + RECENCY_BOOST * 2 ** ((day - newest) / HALF_LIFE_DAYS));
}

/** Puts lines that stand right beside a better one behind all others. */
function onePerPassage(ranked: readonly RankedLine[], wanted: number): RankedLine[] {
  const leaders: RankedLine[] = [];
  const followers: RankedLine[] = [];
  const byFile = new Map<number, RankedLine[]>();
  for (const line of ranked) {
    if (leaders.length === wanted) break;
    const others = byFile.get(line.fileId) ?? [];
    byFile.set(line.fileId, others);
    const isBeside = others.some(
      (other) => Math.abs(other.number - line.number) * meanLength(other, line) < PASSAGE_CHARS,
    );
    if (isBeside) {
      followers.push(line);
      continue;
    }
    leaders.push(line);
    others.push(line);
  }
  return [...leaders, ...followers].slice(0, wanted);
}

function meanLength(left: StoredLine, right: StoredLine): number {
  return (left.content.length + right.content.length) / 2;
}
