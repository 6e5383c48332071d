import type { Database, Statement } from 'better-sqlite3';
import { inverseFrequency } from './bm25.js';
import { type Collection, collectionOf, conditionOf, type LineFilter } from './line-filter.js';
import { type RankContext, type RankedLine, rankLines, type StoredLine } from './rank-lines.js';
import { expressionOf, type SearchQuery, type SearchTerm } from './search-query.js';

/** Matches that are ranked at most, of those that have every term. */
const MIN_CANDIDATES = 500;
/** The same for lines with one term or two. */
const CANDIDATES_PER_TERM = 400;
const CANDIDATES_PER_PAIR = 100;
/** Of so many of the rarest terms, lines with two of them are looked for. */
const PAIRED_TERMS = 6;
/** Terms more frequent than this are equally uninteresting. */
const MAX_COUNTED = 20_000;

/** The ids of lines that match an expression, the shortest first. */
type Find = (expression: string, limit: number) => readonly number[];

/** Finds lines by words. It ranks few of the matches: the shortest, which are those that BM25 prefers. */
export class LineSearch {
  readonly #database: Database;
  readonly #line: Statement<[number], StoredLine>;
  readonly #count: Statement<[string, number, number, number], number>;

  constructor(database: Database) {
    this.#database = database;
    this.#line = database.prepare(
      `SELECT lines.id, lines.file_id AS fileId, files.path, lines.number, lines.day, lines.content
       FROM lines JOIN files ON files.id = lines.file_id WHERE lines.id = ?`,
    );
    this.#count = database
      .prepare<[string, number, number, number], number>(
        `SELECT count(*) FROM (
           SELECT 1 FROM line_terms WHERE line_terms MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?
         )`,
      )
      .pluck();
  }

  /** The best lines, the best first. Of keywords, lines with all of them come before lines with some. */
  search(query: SearchQuery, filter: LineFilter, wanted: number): readonly RankedLine[] {
    const collection = collectionOf(this.#database, filter);
    if (query.terms.length === 0 || wanted === 0 || collection.lines === 0) return [];
    const find = this.#finder(collection, filter);
    const counts = query.terms.map((term) => this.#countOf(term, collection));
    const context: RankContext = {
      query,
      weights: query.terms.map(
        ({ weight }, index) => weight * inverseFrequency(counts[index] ?? 0, collection.lines),
      ),
      averageLength: collection.averageLength,
    };
    const rank = (ids: Iterable<number>, most: number) => rankLines(this.#read(ids), context, most);

    const all = query.terms.map(expressionOf);
    const limit = Math.max(MIN_CANDIDATES, 2 * wanted);
    const quoted = query.phrases.length === 0 ? [] : find([...query.phrases, ...all].join(' AND '), limit);
    const whole = quoted.length > 0 ? quoted : find(all.join(' AND '), limit);
    if (!query.isQuestion) {
      const best = rank(whole, wanted);
      if (best.length === wanted || query.terms.length === 1 || quoted.length > 0) return best;
      const seen = new Set(whole);
      const rest = someOf(query.terms, counts, find).filter((id) => !seen.has(id));
      return [...best, ...rank(rest, wanted - best.length)];
    }
    return rank(new Set([...whole, ...someOf(query.terms, counts, find)]), wanted);
  }

  #countOf(term: SearchTerm, { ranges }: Collection): number {
    const expression = expressionOf(term);
    let count = 0;
    for (const { first, last } of ranges) count += this.#count.get(expression, first, last, MAX_COUNTED) ?? 0;
    return count;
  }

  #finder({ ranges }: Collection, filter: LineFilter): Find {
    const condition = conditionOf(filter);
    const extra =
      condition === undefined
        ? ''
        : `AND EXISTS (
             SELECT 1 FROM lines JOIN files ON files.id = lines.file_id
             WHERE lines.id = line_terms.rowid AND ${condition.sql}
           )`;
    const statement = this.#database
      .prepare<[Readonly<Record<string, string | number>>], number>(
        `SELECT rowid FROM line_terms
         WHERE line_terms MATCH :match AND rowid BETWEEN :first AND :last ${extra}
         ORDER BY rowid DESC LIMIT :limit`,
      )
      .pluck();
    return (match, limit) =>
      ranges.flatMap(({ first, last }) => statement.all({ ...condition?.values, match, first, last, limit }));
  }

  #read(ids: Iterable<number>): StoredLine[] {
    const lines: StoredLine[] = [];
    for (const id of ids) {
      const line = this.#line.get(id);
      if (line !== undefined) lines.push(line);
    }
    return lines;
  }
}

/** Lines that have some of the terms: pairs of the rarest, and each alone as long as there is a rarer way to be found. */
function someOf(terms: readonly SearchTerm[], counts: readonly number[], find: Find): number[] {
  const weighty = terms.some(({ weight }) => weight === 1);
  const byRarity = terms
    .map((term, index) => ({ term, count: counts[index] ?? 0 }))
    .filter(({ term, count }) => count > 0 && (!weighty || term.weight === 1))
    .sort((left, right) => left.count - right.count);
  const ids = new Set<number>();
  const rarest = byRarity.slice(0, PAIRED_TERMS).map(({ term }) => expressionOf(term));
  for (const [index, left] of rarest.entries()) {
    for (const right of rarest.slice(index + 1)) {
      for (const id of find(`${left} AND ${right}`, CANDIDATES_PER_PAIR)) ids.add(id);
    }
  }
  for (const { term } of byRarity) {
    for (const id of find(expressionOf(term), CANDIDATES_PER_TERM)) ids.add(id);
  }
  return [...ids];
}
