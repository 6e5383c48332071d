import { setImmediate } from 'node:timers/promises';
import type { Connection } from './index-database.js';
import { type IdRange, type LineFilter, PASSES, type SearchedLines, searchedLines } from './line-filter.js';
import { type Collection, type Match, NEIGHBORS, rankMatches, termWeights } from './rank.js';
import { type SearchQuery, type SearchTerm, TermMatcher } from './search-query.js';

/** How much a search looks at. */
interface Effort {
  /** Places that are filled. */
  readonly places: number;
  /** Lines that are compared by the words they have: of more with a word, or with two, the newest. */
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
const FIRST: Effort = { places: 20, scored: 1_000, texts: 250, keywordTexts: 24, best: 10 };
const FURTHER: Effort = { places: 1_000, scored: 2_000, texts: 1_000, keywordTexts: 1_000, best: 24 };

/** So few lines are all read, so that nothing of their ranking is estimated. */
const FEW_LINES = 1_000;
/** Of so many of the weightiest terms, lines with two of them are looked for. */
const PAIRED_TERMS = 5;
/** Terms by which lines are compared before they are read. */
const MOST_TERMS = 30;
/** Characters that are taken apart before others get their turn. */
const CHARS_PER_SLICE = 40_000;
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

type Parameters = Readonly<Record<string, string | number | null>>;

const COLUMNS = `lines.id, lines.file_id AS fileId, files.path, lines.number, lines.day, lines.content, ${PASSES} AS passes
  FROM lines JOIN files ON files.id = lines.file_id`;

const LINES_OF = `SELECT ${COLUMNS} WHERE lines.id IN (SELECT value FROM json_each(:ids))`;
const LINES_BETWEEN = `SELECT ${COLUMNS} WHERE lines.id BETWEEN :first AND :last`;
const LINES_AROUND = `SELECT ${COLUMNS} WHERE lines.file_id = :fileId AND lines.number BETWEEN :from AND :to LIMIT ${MAX_AROUND}`;
const COUNT = 'SELECT count(*) FROM line_terms WHERE line_terms MATCH ? AND rowid BETWEEN ? AND ?';
const ALLOWED = `AND EXISTS (
  SELECT 1 FROM lines WHERE lines.id = line_terms.rowid AND ${PASSES}
)`;

/** The newest lines that match a full-text expression. */
function findingWith(condition: string): string {
  return `SELECT rowid FROM line_terms WHERE line_terms MATCH :match AND rowid BETWEEN :first AND :last ${condition}
    ORDER BY rowid DESC LIMIT :scored`;
}

/** Finds lines by words: of those with the weightiest words the most promising are read, and ranked with their neighbors. */
export class LineSearch {
  readonly #sql: Connection;
  /** How many lines have a term: counting reads all that is indexed of it, so it is done once until the index changes. */
  readonly #counts = new Map<string, number>();
  #countedFor = '';

  constructor(connection: Connection) {
    this.#sql = connection;
  }

  /** The places from `from` to before `to` of the ranking. While much is read, others get their turn. */
  async search(
    query: SearchQuery,
    filter: LineFilter,
    from: number,
    to: number,
  ): Promise<readonly RankedLine[]> {
    const searched = searchedLines(this.#sql, filter);
    if (query.terms.length === 0 || from >= to || searched.lines === 0) return [];
    const first = await this.#rank(query, filter, searched, FIRST);
    if (to <= first.length || first.length < FIRST.places) return first.slice(from, to);
    const taken = new Set(first.map(({ fileId, number }) => `${fileId} ${number}`));
    const further = await this.#rank(query, filter, searched, FURTHER);
    return [...first, ...further.filter(({ fileId, number }) => !taken.has(`${fileId} ${number}`))].slice(
      from,
      to,
    );
  }

  async #rank(
    query: SearchQuery,
    filter: LineFilter,
    searched: SearchedLines,
    effort: Effort,
  ): Promise<readonly RankedLine[]> {
    const { since = null, until = null } = filter;
    const allowed: Parameters = { since, until };
    const counts: number[] = [];
    for (const term of query.terms) counts.push(await this.#count(expressionOf(term), searched.ranges));
    const collection = { ...searched, counts };
    const isSmall = searched.lines <= FEW_LINES;
    const texts = query.isQuestion ? effort.texts : effort.keywordTexts;
    const lines = isSmall
      ? searched.ranges.flatMap((range) =>
          this.#sql.rows<StoredLine>(LINES_BETWEEN, { ...range, ...allowed }),
        )
      : await this.#read(this.#candidates(query, allowed, searched, collection, effort), allowed, texts);
    const matcher = new TermMatcher(query);
    const matches = new Map<number, MatchedLine>();
    let chars = 0;
    const consider = async (line: StoredLine) => {
      const { id, fileId, number, day, content } = line;
      chars += content.length;
      if (chars > CHARS_PER_SLICE) chars = await setImmediate(0);
      matches.set(id, { ...matcher.match(content, day), file: fileId, number, day, order: id, line });
    };
    for (const line of lines) await consider(line);
    // SQLite's scores know neither names nor days: the best lines are told by what was read.
    const best = isSmall ? [] : rankMatches([...matches.values()], query, collection);
    for (const { fileId, number } of best.slice(0, effort.best).map(({ match }) => match.line)) {
      const around = { fileId, from: number - NEIGHBORS.length, to: number + NEIGHBORS.length };
      for (const line of this.#sql.rows<StoredLine>(LINES_AROUND, { ...around, ...allowed })) {
        if (!matches.has(line.id)) await consider(line);
      }
    }
    await setImmediate();
    return rankMatches([...matches.values()], query, collection)
      .filter(({ match }) => match.line.passes === 1)
      .slice(0, effort.places)
      .map(({ match, score }) => ({ ...match.line, score }));
  }

  /**
   * The lines with the weightiest of the query's words, the best first: of the rarest words all, of the others, which too many
   * lines have, those with two of them. Of keywords, those with all are enough where there are as many as wanted.
   */
  #candidates(
    { terms, isQuestion }: SearchQuery,
    allowed: Parameters,
    { ranges }: SearchedLines,
    collection: Collection,
    { places, scored }: Effort,
  ): readonly number[] {
    const finding = findingWith(Object.values(allowed).every((value) => value === null) ? '' : ALLOWED);
    const weights = termWeights(terms, collection);
    const isWeighty = terms.some(({ weight }) => weight === 1);
    const chosen = [...terms.keys()]
      .filter((index) => !isWeighty || terms[index]?.weight === 1)
      .sort((left, right) => (weights[right] ?? 0) - (weights[left] ?? 0))
      .slice(0, MOST_TERMS);
    /** By line, a bit for each chosen term that it is known to have. */
    const found = new Map<number, number>();
    const find = (places: readonly number[]) => {
      const match = places
        .map((place) => expressionOf(terms[chosen[place] ?? 0] as SearchTerm))
        .join(' AND ');
      const bits = places.reduce((sum, place) => sum | (1 << place), 0);
      for (const range of ranges) {
        for (const id of this.#sql.column<number>(finding, { ...range, ...allowed, match, scored }))
          found.set(id, (found.get(id) ?? 0) | bits);
      }
    };
    const keywords = [...chosen.keys()].filter(
      (place) => terms[chosen[place] ?? 0]?.isDate === false && !isQuestion,
    );
    if (keywords.length > 1) find(keywords);
    if (found.size < places) {
      let matching = 0;
      const common = chosen.findIndex((index) => {
        matching += collection.counts[index] ?? 0;
        return matching > scored;
      });
      const rare = common < 0 ? chosen.length : common;
      for (const place of chosen.keys()) {
        if (place < rare) find([place]);
        for (let other = Math.max(place + 1, rare); other < Math.min(chosen.length, PAIRED_TERMS); other++)
          find([place, other]);
      }
      if (found.size < places && rare < chosen.length) find([rare]);
    }
    const scores = new Map<number, number>();
    for (const bits of found.values()) {
      if (!scores.has(bits))
        scores.set(
          bits,
          chosen.reduce((sum, index, place) => sum + ((bits >> place) & 1) * (weights[index] ?? 0), 0),
        );
    }
    return [...found]
      .map(([id, bits]) => ({ id, score: scores.get(bits) ?? 0 }))
      .sort((left, right) => right.score - left.score || right.id - left.id)
      .map(({ id }) => id);
  }

  async #count(expression: string, ranges: readonly IdRange[]): Promise<number> {
    // The one changes when other connections write, the other when this one does.
    const version = ['PRAGMA data_version', 'SELECT total_changes()'].map((sql) => this.#sql.column(sql)[0]);
    if (version.join() !== this.#countedFor || this.#counts.size > MAX_COUNTED) this.#counts.clear();
    this.#countedFor = version.join();
    let sum = 0;
    for (const { first, last } of ranges) {
      const key = `${first} ${expression}`;
      if (!this.#counts.has(key)) {
        this.#counts.set(key, this.#sql.column<number>(COUNT, expression, first, last)[0] ?? 0);
        await setImmediate();
      }
      sum += this.#counts.get(key) ?? 0;
    }
    return sum;
  }

  /** The lines of the texts that promise most. */
  async #read(
    promising: readonly number[],
    allowed: Parameters,
    most: number,
  ): Promise<readonly StoredLine[]> {
    const texts = new Set<string>();
    const lines: StoredLine[] = [];
    // A long text has many lines: more are read until there are as many texts as are wanted.
    for (let from = 0; from < promising.length && texts.size < most; from += most) {
      await setImmediate();
      const ids = JSON.stringify(promising.slice(from, from + most));
      const read = this.#sql.rows<StoredLine>(LINES_OF, { ids, ...allowed });
      for (const line of read) texts.add(`${line.fileId} ${line.number}`);
      lines.push(...read);
    }
    return lines;
  }
}

/** A term as a full-text expression. Terms have no quotes: they are letters, digits and underscores. */
function expressionOf({ text, prefix }: SearchTerm): string {
  return `"${text}"${prefix ? '*' : ''}`;
}
