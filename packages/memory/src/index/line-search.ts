import type { Database, Statement } from 'better-sqlite3';
import { type IdRange, type LineFilter, PASSES, type SearchedLines, searchedLines } from './line-filter.js';
import { type Collection, type Match, NEIGHBORS, rankMatches, termWeights } from './rank.js';
import { type SearchQuery, type SearchTerm, TermMatcher } from './search-query.js';
import { stem } from './terms.js';

/** How much a search looks at. */
interface Effort {
  /** Places that are filled. */
  readonly places: number;
  /** Matches that SQLite scores: of more, the newest. */
  readonly scored: number;
  /** Texts that are read for a question, and for keywords. */
  readonly texts: number;
  readonly keywordTexts: number;
  /** The best lines of which the neighbors are read. */
  readonly best: number;
}

/**
 * The first places come from few lines, those that promise most; all further ones from as many as a search may go
 * through. Both are chosen without regard to the page that is asked for, so that pages neither repeat nor skip.
 */
const FIRST: Effort = { places: 20, scored: 2_000, texts: 250, keywordTexts: 60, best: 14 };
const FURTHER: Effort = { places: 11_000, scored: 50_000, texts: 11_000, keywordTexts: 11_000, best: 24 };

/** So few lines are all read, so that nothing of their ranking is estimated. */
const FEW_LINES = 1_000;
/** Of so many of the weightiest terms, lines with two of them are looked for. */
const PAIRED_TERMS = 6;
const MAX_AROUND = 20;
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
  /** 1 when the filter allows it: the neighbor of a line may be outside. */
  readonly passes: 0 | 1;
}

export interface RankedLine extends StoredLine {
  /** The greater, the better. */
  readonly score: number;
}

interface MatchedLine extends Match {
  readonly line: StoredLine;
}

interface ScoredId {
  readonly id: number;
  /** The smaller, the better. */
  readonly rank: number;
}

type Parameters = Readonly<Record<string, string | number | null>>;

const COLUMNS = `lines.id, lines.file_id AS fileId, files.path, lines.number, lines.day, lines.content, ${PASSES} AS passes
  FROM lines JOIN files ON files.id = lines.file_id`;

/** The matches of a full-text expression that a filter allows, as SQLite scores them, the best first. */
function findingWith(condition: string): string {
  const matches = `FROM line_terms WHERE line_terms MATCH :match AND rowid <= :last ${condition}`;
  return `SELECT rowid AS id, rank ${matches} AND rowid >= coalesce(
    (SELECT rowid ${matches} AND rowid >= :first ORDER BY rowid DESC LIMIT 1 OFFSET :scored), :first
  ) ORDER BY rank`;
}
const ALLOWED = `AND EXISTS (
  SELECT 1 FROM lines JOIN files ON files.id = lines.file_id WHERE lines.id = line_terms.rowid AND ${PASSES}
)`;

/** Finds lines by words: SQLite scores the matches, of which the most promising are read and ranked with their neighbors. */
export class LineSearch {
  readonly #database: Database;
  readonly #counts: TermCounts;
  readonly #find: Statement<[Parameters], ScoredId>;
  readonly #findAllowed: Statement<[Parameters], ScoredId>;
  readonly #lines: Statement<[Parameters], StoredLine>;
  readonly #range: Statement<[Parameters], StoredLine>;
  readonly #around: Statement<[Parameters], StoredLine>;

  constructor(database: Database) {
    this.#database = database;
    this.#counts = new TermCounts(database);
    this.#find = database.prepare(findingWith(''));
    this.#findAllowed = database.prepare(findingWith(ALLOWED));
    this.#lines = database.prepare(`SELECT ${COLUMNS} WHERE lines.id IN (SELECT value FROM json_each(:ids))`);
    this.#range = database.prepare(`SELECT ${COLUMNS} WHERE lines.id BETWEEN :first AND :last`);
    this.#around = database.prepare(
      `SELECT ${COLUMNS} WHERE lines.file_id = :fileId AND lines.number BETWEEN :from AND :to LIMIT ${MAX_AROUND}`,
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
    const { path = null, since = null, until = null } = filter;
    const allowed: Parameters = { path, since, until };
    const counts = query.terms.map((term) => this.#counts.count(expressionOf(term), searched.ranges));
    const collection = { ...searched, counts };
    const isSmall = searched.lines <= FEW_LINES;
    const texts = query.isQuestion ? effort.texts : effort.keywordTexts;
    const lines = isSmall
      ? searched.ranges.flatMap((range) => this.#range.all({ ...range, ...allowed }))
      : this.#read(this.#candidates(query, allowed, searched, collection, effort), allowed, texts);
    const matcher = new TermMatcher(query);
    const matches = new Map<number, MatchedLine>();
    const consider = (line: StoredLine) => {
      const { id, fileId, number, day, content } = line;
      if (matches.has(id)) return;
      matches.set(id, { ...matcher.match(content, day), file: fileId, number, day, order: id, line });
    };
    for (const line of lines) consider(line);
    // SQLite's scores know neither names nor days: the best lines are told by what was read.
    const best = isSmall ? [] : rankMatches([...matches.values()], query, collection);
    for (const { fileId, number } of best.slice(0, effort.best).map(({ match }) => match.line)) {
      const around = { fileId, from: number - NEIGHBORS.length, to: number + NEIGHBORS.length };
      for (const line of this.#around.all({ ...around, ...allowed })) consider(line);
    }
    return rankMatches([...matches.values()], query, collection)
      .filter(({ match }) => match.line.passes === 1)
      .slice(0, effort.places)
      .map(({ match, score }) => ({ ...match.line, score }));
  }

  /** Lines with the phrases; else with all of the keywords, before those with some; of a question, with some. */
  #candidates(
    { terms, phrases, isQuestion }: SearchQuery,
    allowed: Parameters,
    { ranges }: SearchedLines,
    collection: Collection,
    { places, scored }: Effort,
  ): readonly number[] {
    const statement = Object.values(allowed).every((value) => value === null)
      ? this.#find
      : this.#findAllowed;
    const find = (match: string) =>
      ranges
        .flatMap((range) => statement.all({ ...range, ...allowed, match, scored: 2 * scored }))
        .sort((left, right) => left.rank - right.rank || right.id - left.id)
        .map(({ id }) => id);
    const quoted =
      phrases.length === 0 ? [] : find(phrases.map((phrase) => `"${phrase.join(' ')}"*`).join(' AND '));
    if (quoted.length > 0) return quoted;
    const keywords = terms.filter(({ isDate }) => !isDate && !isQuestion);
    const all = keywords.length < 2 ? [] : find(keywords.map(expressionOf).join(' AND '));
    if (all.length >= places) return all;
    // The rarest terms tell most. Of the others, which too many lines have, two together.
    const weights = termWeights(terms, collection);
    const isWeighty = terms.some(({ weight }) => weight === 1);
    const chosen = [...terms.keys()]
      .filter((index) => !isWeighty || terms[index]?.weight === 1)
      .sort((left, right) => (weights[right] ?? 0) - (weights[left] ?? 0));
    let matching = 0;
    const common = chosen.findIndex((index) => {
      matching += collection.counts[index] ?? 0;
      return matching > scored;
    });
    const rare = common < 0 ? chosen.length : common;
    const expressions = chosen.map((index) => expressionOf(terms[index] as SearchTerm));
    const paired = expressions.slice(0, PAIRED_TERMS);
    const pairs = paired.flatMap((left, at) =>
      paired.slice(Math.max(at + 1, rare)).map((right) => `(${left} AND ${right})`),
    );
    const telling = [...expressions.slice(0, rare), ...pairs].join(' OR ');
    const some = telling === '' ? [] : find(telling);
    const next = some.length < places ? expressions[rare] : undefined;
    return [...new Set([...all, ...some, ...(next === undefined ? [] : find(next))])];
  }

  /** The lines of the texts that promise most. */
  #read(promising: readonly number[], allowed: Parameters, most: number): readonly StoredLine[] {
    const texts = new Set<string>();
    const lines: StoredLine[] = [];
    // A long text has many lines: more are read until there are as many texts as are wanted.
    for (let from = 0; from < promising.length && texts.size < most; from += most) {
      const ids = JSON.stringify(promising.slice(from, from + most));
      const read = this.#lines.all({ ids, ...allowed });
      for (const line of read) texts.add(`${line.fileId} ${line.number}`);
      lines.push(...read);
    }
    return lines;
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

/** A term as a full-text expression. Terms have no quotes: they are letters, digits and underscores. */
function expressionOf({ text, prefix }: SearchTerm): string {
  if (!prefix) return `"${text}"`;
  const whole = stem(text);
  return whole === text ? `"${text}"*` : `("${text}"* OR "${whole}")`;
}
