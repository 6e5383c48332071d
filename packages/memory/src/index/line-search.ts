import type { Database, Statement } from 'better-sqlite3';
import { inverseFrequency, sqliteInverseFrequency } from './bm25.js';
import { type Estimates, type Find, linesWithAll, linesWithSome, mostPromising } from './candidates.js';
import { type Collection, collectionOf, type LineFilter } from './line-filter.js';
import { LineFinder } from './line-finder.js';
import { type RankedLine, rankLines, type StoredLine } from './rank-lines.js';
import { expressionOf, type SearchQuery } from './search-query.js';
import { TermCounts } from './term-counts.js';

/** Lines that are read beyond those wanted, since it is known before only about how good they are. */
const SPARE = 10;
/** The same when names, dates or neighbors may move a line up or down. */
const MUCH_SPARE = 400;
/** Lines with a word of a question that are looked at. */
const MAX_PER_TERM = 1_000;
/** Lines with a question's phrase that are looked at. */
const MAX_QUOTED = 1_000;

/** Finds lines by words. It ranks few of the matches: the shortest, which are those that BM25 prefers. */
export class LineSearch {
  readonly #database: Database;
  readonly #finder: LineFinder;
  readonly #counts: TermCounts;
  readonly #line: Statement<[number], StoredLine>;

  constructor(database: Database) {
    this.#database = database;
    this.#finder = new LineFinder(database);
    this.#counts = new TermCounts(database);
    this.#line = database.prepare(
      `SELECT lines.id, lines.file_id AS fileId, files.path, lines.number, lines.day, lines.content
       FROM lines JOIN files ON files.id = lines.file_id WHERE lines.id = ?`,
    );
  }

  /** The best lines, the best first. Of keywords, lines with all of them come before lines with some. */
  search(query: SearchQuery, filter: LineFilter, wanted: number): readonly RankedLine[] {
    const collection = collectionOf(this.#database, filter);
    if (query.terms.length === 0 || wanted === 0 || collection.lines === 0) return [];
    const find = this.#finder.within(collection, filter);
    const context = {
      query,
      weights: this.#weights(query, collection),
      averageLength: collection.averageLength,
    };
    const spare = query.isQuestion || query.names.length > 0 ? MUCH_SPARE : SPARE;
    const rank = (estimates: Estimates, most: number) =>
      rankLines(this.#read(mostPromising(estimates, most + spare)), context, most);
    if (query.isQuestion) {
      const some = linesWithSome(context, MAX_PER_TERM, find);
      return rank(query.phrases.length === 0 ? some : onlyQuoted(some, query, find), wanted);
    }
    const quoted =
      query.phrases.length > 0 ? linesWithAll(context, query.phrases, wanted + spare, find) : undefined;
    const all = quoted?.size ? quoted : linesWithAll(context, [], wanted + spare, find);
    const best = rank(all, wanted);
    if (best.length === wanted || query.terms.length === 1 || quoted?.size) return best;
    const rest = new Map(linesWithSome(context, wanted + spare + all.size, find));
    for (const id of all.keys()) rest.delete(id);
    return [...best, ...rank(rest, wanted - best.length)];
  }

  /** One term alone needs no weight: its lines stand in the same order with any. */
  #weights({ terms, isQuestion }: SearchQuery, { ranges, lines }: Collection): readonly number[] {
    if (terms.length === 1) return [1];
    const frequencyWeight = isQuestion ? inverseFrequency : sqliteInverseFrequency;
    return terms.map((term) => {
      const count = this.#counts.count(expressionOf(term), ranges);
      return term.weight * frequencyWeight(count, lines);
    });
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

/** Those with all phrases, if there are any. */
function onlyQuoted(estimates: Estimates, { phrases }: SearchQuery, find: Find): Estimates {
  const ids = find(phrases.join(' AND '), MAX_QUOTED);
  return ids.length === 0 ? estimates : new Map(ids.map((id) => [id, estimates.get(id) ?? 0]));
}
