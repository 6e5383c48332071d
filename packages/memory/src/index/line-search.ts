import type { Database, Statement } from 'better-sqlite3';
import { conditionOf, type LineFilter, type SearchedLines, searchedLines } from './line-filter.js';
import { type IdRange, lengthOf } from './line-id.js';
import { repeated, repeatLevels } from './line-writer.js';
import { type Collection, type Match, NEIGHBORS, rankMatches, saturation, termWeights } from './rank.js';
import { type SearchQuery, type SearchTerm, TermMatcher } from './search-query.js';
import { stem } from './terms.js';

/**
 * The first places come from few lines, those that promise most; all further ones from as many as a search may go
 * through. Both are chosen without regard to the page that is asked for, so that pages neither repeat nor skip.
 */
const FIRST: Effort = {
  places: 20,
  keywords: { lines: 40, perTerm: 60, best: 8 },
  question: { lines: 250, perTerm: 600, best: 14 },
};
const FURTHER: Effort = {
  places: 11_000,
  keywords: { lines: 11_000, perTerm: 11_000, best: 24 },
  question: { lines: 11_000, perTerm: 11_000, best: 24 },
};

interface Effort {
  /** Places that are filled. */
  readonly places: number;
  readonly keywords: Depth;
  readonly question: Depth;
}

interface Depth {
  /** Lines that are read. */
  readonly lines: number;
  /** Ids that are looked up of each term. */
  readonly perTerm: number;
  /** The best lines of which the neighbors are read. */
  readonly best: number;
}

/** So few lines are all read, so that nothing of their ranking is estimated. */
const FEW_LINES = 1_000;
const MAX_AROUND = 20;
/** Of so many of the weightiest terms, lines with two of them are looked for. */
const PAIRED_TERMS = 6;
const MAX_PER_PAIR = 100;
const MAX_COUNTED = 1_000;

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

interface MatchedLine extends Match {
  readonly line: StoredLine;
}

/** The ids of lines that match a full-text expression, the shortest first. */
type Find = (expression: string, limit: number) => readonly number[];
/** By id, about how good lines are: all that can be known of them without reading them. */
type Estimates = ReadonlyMap<number, number>;

const COLUMNS = `lines.id, lines.file_id AS fileId, files.path, lines.number, lines.day, lines.content
  FROM lines JOIN files ON files.id = lines.file_id`;

/** Finds lines by words. It reads few of the matches: the shortest, which are those that BM25 prefers. */
export class LineSearch {
  readonly #database: Database;
  readonly #counts: TermCounts;
  readonly #finders = new Map<string, Statement<[Readonly<Record<string, string | number>>], number>>();
  readonly #lines: Statement<[string], StoredLine>;
  readonly #range: Statement<[number, number], StoredLine>;
  readonly #around: Statement<[number, number, number], StoredLine>;

  constructor(database: Database) {
    this.#database = database;
    this.#counts = new TermCounts(database);
    this.#lines = database.prepare(`SELECT ${COLUMNS} WHERE lines.id IN (SELECT value FROM json_each(?))`);
    this.#range = database.prepare(`SELECT ${COLUMNS} WHERE lines.id BETWEEN ? AND ?`);
    this.#around = database.prepare(
      `SELECT ${COLUMNS} WHERE lines.file_id = ? AND lines.number BETWEEN ? AND ? LIMIT ${MAX_AROUND}`,
    );
  }

  /** The places from `from` to before `to` of the ranking. */
  search(query: SearchQuery, filter: LineFilter, from: number, to: number): readonly RankedLine[] {
    const searched = searchedLines(this.#database, filter);
    if (query.terms.length === 0 || from >= to || searched.lines === 0) return [];
    const first = this.#rank(query, filter, searched, FIRST);
    if (to <= first.length || first.length < FIRST.places) return first.slice(from, to);
    const taken = new Set(first.map(({ fileId, number }) => `${fileId} ${number}`));
    const further = this.#rank(query, filter, searched, FURTHER);
    return [...first, ...further.filter(({ fileId, number }) => !taken.has(`${fileId} ${number}`))].slice(
      from,
      to,
    );
  }

  #rank(query: SearchQuery, filter: LineFilter, searched: SearchedLines, effort: Effort): RankedLine[] {
    const counts = query.terms.map((term) => this.#counts.count(expressionOf(term), searched.ranges));
    const collection = { ...searched, counts };
    const isSmall = searched.lines <= FEW_LINES;
    const depth = query.isQuestion ? effort.question : effort.keywords;
    const lines = isSmall
      ? searched.ranges.flatMap(({ first, last }) => this.#range.all(first, last))
      : this.#read(this.#candidates(query, filter, searched, collection, effort), depth.lines);
    const matcher = new TermMatcher(query);
    const matches = new Map<number, MatchedLine>();
    const consider = (line: StoredLine) => {
      const { id, fileId, number, day, content } = line;
      if (matches.has(id)) return;
      matches.set(id, { ...matcher.match(content, day), file: fileId, number, day, order: id, line });
    };
    for (const line of lines) consider(line);
    // The estimates know neither names nor days: the best lines are told by what was read.
    const best = isSmall ? [] : rankMatches([...matches.values()], query, collection);
    for (const { fileId, number } of best.slice(0, depth.best).map(({ match }) => match.line)) {
      const around = [fileId, number - NEIGHBORS.length, number + NEIGHBORS.length] as const;
      for (const line of this.#around.all(...around)) consider(line);
    }
    return rankMatches([...matches.values()], query, collection)
      .filter(({ match }) => isWithin(match.line, filter))
      .slice(0, effort.places)
      .map(({ match, score }) => ({ ...match.line, score }));
  }

  /** Lines with all of the keywords, or with some where these are too few; of a question, with some. */
  #candidates(
    query: SearchQuery,
    filter: LineFilter,
    searched: SearchedLines,
    collection: Collection,
    effort: Effort,
  ): Estimates {
    const find = this.#finder(filter, searched);
    const candidates = new Candidates(query, collection);
    const phrases = query.phrases.map((phrase) => `"${phrase.join(' ')}"*`).join(' AND ');
    if (phrases !== '' && candidates.add(find(phrases, effort.question.perTerm), []) > 0)
      return candidates.estimates();
    const keywords = query.terms.flatMap(({ isDate }, index) => (isDate ? [] : [index]));
    if (!query.isQuestion && keywords.length > 1) {
      const found = candidates.addAll(keywords, effort.keywords.perTerm, find);
      if (found >= effort.places) return candidates.estimates();
    }
    candidates.addSome((query.isQuestion ? effort.question : effort.keywords).perTerm, find);
    return candidates.estimates();
  }

  #finder(filter: LineFilter, { ranges }: SearchedLines): Find {
    const condition = conditionOf(filter);
    const key = condition?.sql ?? '';
    // There are few conditions: their values are parameters.
    let statement = this.#finders.get(key);
    if (statement === undefined) {
      const extra =
        condition === undefined
          ? ''
          : `AND EXISTS (
               SELECT 1 FROM lines JOIN files ON files.id = lines.file_id
               WHERE lines.id = line_terms.rowid AND ${condition.sql}
             )`;
      statement = this.#database
        .prepare<[Readonly<Record<string, string | number>>], number>(
          `SELECT rowid FROM line_terms
           WHERE line_terms MATCH :match AND rowid BETWEEN :first AND :last ${extra}
           ORDER BY rowid DESC LIMIT :limit`,
        )
        .pluck();
      this.#finders.set(key, statement);
    }
    const find = statement;
    return (match, limit) =>
      ranges.flatMap(({ first, last }) => find.all({ ...condition?.values, match, first, last, limit }));
  }

  /** The lines of the texts that promise most. */
  #read(estimates: Estimates, most: number): readonly StoredLine[] {
    const promising = [...estimates]
      .sort(([leftId, left], [rightId, right]) => right - left || rightId - leftId)
      .map(([id]) => id);
    const texts = new Set<string>();
    const lines: StoredLine[] = [];
    // A long text has many lines: more are read until there are as many texts as are wanted.
    for (let from = 0; from < promising.length && texts.size < most; from += most) {
      const read = this.#lines.all(JSON.stringify(promising.slice(from, from + most)));
      for (const line of read) texts.add(`${line.fileId} ${line.number}`);
      lines.push(...read);
    }
    return lines;
  }
}

/** Lines that a search looks at, and how often each term was seen in them, at least. */
class Candidates {
  readonly #query: SearchQuery;
  readonly #averageLength: number;
  readonly #weights: readonly number[];
  readonly #seen = new Map<number, Uint8Array>();

  constructor(query: SearchQuery, collection: Collection) {
    this.#query = query;
    this.#averageLength = collection.averageLength;
    this.#weights = termWeights(query, collection);
  }

  /** @param seen pairs of a term's index and how often it occurs. */
  add(ids: readonly number[], seen: readonly (readonly [index: number, times: number])[]): number {
    for (const id of ids) {
      const times = this.#seen.get(id) ?? new Uint8Array(this.#query.terms.length);
      this.#seen.set(id, times);
      for (const [index, level] of seen) if (level > (times[index] ?? 0)) times[index] = level;
    }
    return ids.length;
  }

  /** Lines that have all of some terms, and those that repeat one of them. Of equally frequent terms the shortest are the best. */
  addAll(indexes: readonly number[], limit: number, find: Find): number {
    const { terms } = this.#query;
    const once = indexes.map((index) => [index, 1] as const);
    const addWith = (changed: number | undefined, level: number) => {
      const seen = once.map(([index]) => [index, index === changed ? level : 1] as const);
      const parts = seen.map(([index, times]) => expressionOf(terms[index] as SearchTerm, times));
      return this.add(find(parts.join(' AND '), limit), seen);
    };
    const found = addWith(undefined, 1);
    if (found < limit) return found;
    for (const index of indexes) {
      if (terms[index]?.prefix) continue;
      for (const level of repeatLevels.slice(1)) if (addWith(index, level) === 0) break;
    }
    return found;
  }

  /** The shortest lines of each term, and those with two of the weightiest. */
  addSome(limit: number, find: Find): void {
    const { terms } = this.#query;
    const isWeighty = terms.some(({ weight }) => weight === 1);
    const chosen = terms
      .map((term, index) => ({ term, index, weight: this.#weights[index] ?? 0 }))
      .filter(({ term }) => !isWeighty || term.weight === 1)
      .sort((left, right) => right.weight - left.weight);
    for (const { term, index } of chosen) {
      for (const level of term.prefix || term.isDate ? [1] : repeatLevels) {
        if (this.add(find(expressionOf(term, level), limit), [[index, level]]) === 0) break;
      }
    }
    for (const [place, left] of chosen.slice(0, PAIRED_TERMS).entries()) {
      for (const right of chosen.slice(place + 1, PAIRED_TERMS)) {
        const both = `${expressionOf(left.term)} AND ${expressionOf(right.term)}`;
        this.add(find(both, Math.min(limit, MAX_PER_PAIR)), [
          [left.index, 1],
          [right.index, 1],
        ]);
      }
    }
  }

  estimates(): Estimates {
    const estimates = new Map<number, number>();
    for (const [id, times] of this.#seen) {
      const length = lengthOf(id);
      let score = 0;
      for (const [index, weight] of this.#weights.entries()) {
        const frequency = times[index] ?? 0;
        if (frequency > 0) score += weight * saturation(frequency, length, this.#averageLength);
      }
      estimates.set(id, score);
    }
    return estimates;
  }
}

/** How many lines have a term. Counting reads all that is indexed of it, so it is done once until the index changes. */
class TermCounts {
  readonly #count: Statement<[string, number, number], number>;
  readonly #version: Statement<[], number>;
  readonly #ownChanges: Statement<[], number>;
  readonly #known = new Map<string, number>();
  #knownFor = '';

  constructor(database: Database) {
    this.#count = database
      .prepare<[string, number, number], number>(
        'SELECT count(*) FROM line_terms WHERE line_terms MATCH ? AND rowid BETWEEN ? AND ?',
      )
      .pluck();
    // The one changes when other connections write, the other when this one does.
    this.#version = database.prepare<[], number>('PRAGMA data_version').pluck();
    this.#ownChanges = database.prepare<[], number>('SELECT total_changes()').pluck();
  }

  count(expression: string, ranges: readonly IdRange[]): number {
    const version = `${this.#version.get()} ${this.#ownChanges.get()}`;
    if (version !== this.#knownFor || this.#known.size > MAX_COUNTED) this.#known.clear();
    this.#knownFor = version;
    let sum = 0;
    for (const { first, last } of ranges) {
      const key = `${first} ${expression}`;
      const count = this.#known.get(key) ?? this.#count.get(expression, first, last) ?? 0;
      this.#known.set(key, count);
      sum += count;
    }
    return sum;
  }
}

/**
 * A term as a full-text expression, for lines that have it so often at least. Terms have no quotes: they are letters,
 * digits and underscores.
 */
function expressionOf({ text, prefix }: SearchTerm, times = 1): string {
  if (!prefix) return `"${repeated(text, times)}"`;
  const whole = stem(text);
  return whole === text ? `"${text}"*` : `("${text}"* OR "${whole}")`;
}

/** What was read around a line that the filter allows, or with all of a small place, may be outside of it. */
function isWithin({ path, day }: StoredLine, { path: wanted, since, until }: LineFilter): boolean {
  const isFolder = wanted === '' || wanted?.endsWith('/') === true;
  if (wanted !== undefined && !(isFolder ? path.startsWith(wanted) : path === wanted)) return false;
  if (since === undefined && until === undefined) return true;
  return day !== null && day >= (since ?? day) && day <= (until ?? day);
}
