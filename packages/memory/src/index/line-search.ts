import { setImmediate } from 'node:timers/promises';
import { type Collection, NEIGHBORS, type SearchQuery, TextScan, termWeights } from '@x/core/internal';
import { dateTermsOf } from './dates.js';
import type { Connection } from './index-database.js';
import { tokenizer } from './query.js';
import { idsOfScope } from './scopes.js';

/** Lines of each word or pair of words that are compared before they are read: the newest ones. */
const SCORED = 1_000;
/** Maximum number of texts that a search of a large index reads and ranks, for a question and for keywords. It has no more hits. */
const QUESTION_TEXTS = 250;
const KEYWORD_TEXTS = 50;
/** The number of best lines whose neighbors are read too. */
const BEST = 24;

/** Up to this number, all lines are read, so that no part of the ranking is estimated. */
const FEW_LINES = 1_000;
/** Lines with two of this many highest-weighted terms are searched. */
const PAIRED_TERMS = 5;
/** Maximum number of terms by which lines are compared before they are read. */
const MOST_TERMS = 30;
/** Characters that are tokenized before yielding to other work. */
const CHARS_PER_SLICE = 40_000;
/** Lines that are read before yielding to other work. */
const READ_AT_ONCE = 50;
/** Maximum number of lines that are read around one of the best lines. */
const MAX_AROUND = 20;
/** Maximum number of cached line counts. */
const MAX_COUNTED = 1_000;

/** Limits the lines that a search returns. */
export interface LineFilter {
  readonly prefix?: string | undefined;
  /** Days since 1970, inclusive. Undated lines are excluded. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** A stored line. */
interface StoredLine {
  readonly id: number;
  readonly fileId: number;
  readonly number: number;
  readonly day: number | null;
  readonly content: string;
  /** 1 if the filter allows the line. The neighbor of a line may be outside the filter. */
  readonly passes: 0 | 1;
}

type Places = ReturnType<TextScan<StoredLine>['best']>;

/** A line that is added to a scan. */
type ScannedLine = Parameters<TextScan<StoredLine>['add']>[0];

/** All lines of a small search, with their terms. */
interface FewLines {
  /** The search for which the lines were read. */
  readonly key: string;
  readonly texts: readonly ScannedLine[];
  /** For each term, the indexes of the lines that contain it, once per occurrence. */
  readonly places: ReadonlyMap<string, readonly number[]>;
}

/** The query and the filter of one search. */
interface Search {
  readonly query: SearchQuery;
  readonly ranges: readonly ReturnType<typeof idsOfScope>[];
  readonly collection: Collection;
  readonly days: { readonly since: number | null; readonly until: number | null };
}

/** The scopes that a filter allows. Other scopes are neither searched nor counted. */
const SCOPES =
  'SELECT id, lines, terms FROM scopes WHERE lines > 0 AND (:prefix IS NULL OR prefix = :prefix)';
/** Whether a line passes a filter within its scopes. */
const PASSES = '((:since IS NULL OR lines.day >= :since) AND (:until IS NULL OR lines.day <= :until))';
const LINES = `SELECT id, file_id AS fileId, number, day, content, ${PASSES} AS passes FROM lines WHERE`;
const LINES_OF = `${LINES} id IN (SELECT value FROM json_each(:ids))`;
/** In file order, because a line is ranked with its neighbors. */
const LINES_BETWEEN = `${LINES} id BETWEEN :first AND :last ORDER BY file_id, number`;
const LINES_AROUND = `${LINES} file_id = :fileId AND number BETWEEN :from AND :to LIMIT ${MAX_AROUND}`;
const PATH = 'SELECT path FROM files WHERE id = ?';
const COUNT = 'SELECT count(*) FROM line_terms WHERE line_terms MATCH ? AND rowid BETWEEN ? AND ?';
const VERSION = ['PRAGMA data_version', 'SELECT total_changes()'];
/** The newest lines that match a full-text expression. */
const NEWEST =
  'SELECT rowid FROM line_terms WHERE line_terms MATCH :match AND rowid BETWEEN :first AND :last';
const ALLOWED = `AND EXISTS (SELECT 1 FROM lines WHERE id = line_terms.rowid AND ${PASSES})`;

/** Finds lines by words. The most promising lines with the highest-weighted words are read, and ranked with their neighbors. */
export class LineSearch {
  readonly #sql: Connection;
  /** The number of lines per term. Counting reads the term's whole index, so the counts are cached until the index changes. */
  readonly #counts = new Map<string, number>();
  #countedFor = '';
  /** The lines of the last small search, cached until the index changes. Reading them costs more than ranking them. */
  #few: FewLines = { key: '', texts: [], places: new Map() };

  constructor(connection: Connection) {
    this.#sql = connection;
  }

  /** Returns the hits `from` (inclusive) to `to` (exclusive) of the ranking. Long searches yield to other work. */
  async search(query: SearchQuery, filter: LineFilter, from: number, to: number) {
    const { prefix = null, since = null, until = null } = filter;
    const scopes = this.#sql.rows<Record<'id' | 'lines' | 'terms', number>>(SCOPES, { prefix });
    if (query.terms.length === 0 || from >= to || scopes.length === 0) return [];
    const ranges = scopes.map(({ id }) => idsOfScope(id));
    const days = { since, until };
    const lines = scopes.reduce((sum, scope) => sum + scope.lines, 0);
    const averageLength = scopes.reduce((sum, { terms }) => sum + terms, 0) / lines;
    let places: Places;
    if (lines <= FEW_LINES) {
      const key = JSON.stringify([this.#version(), prefix, days]);
      if (this.#few.key !== key) {
        const all = ranges.flatMap((range) =>
          this.#sql.rows<StoredLine>(LINES_BETWEEN, { ...range, ...days }),
        );
        this.#few = { key, ...(await takeApart(all)) };
      }
      const { texts, counts } = textsNear(query, this.#few);
      places = await this.#rank(texts, new TextScan(query, { lines, averageLength, counts }));
    } else {
      const counts = await this.#countAll(query, ranges);
      places = await this.#promising({ query, ranges, collection: { lines, averageLength, counts }, days });
    }
    return places.slice(from, to).map(({ item, text, score }) => {
      return { ...item, content: text, score, path: this.#sql.column<string>(PATH, item.fileId)[0] ?? '' };
    });
  }

  /** Ranks the most promising lines of many. */
  async #promising(search: Search): Promise<Places> {
    const scan = new TextScan<StoredLine>(search.query, search.collection);
    const lines = await this.#read(search);
    let places = await this.#rank(lines.map(scannedLine), scan);
    if (search.query.isQuestion) {
      // The answer to a question may be next to the best lines.
      const near = places.slice(0, BEST).flatMap(({ item, number }) => {
        const [from, to] = [number - NEIGHBORS.length, number + NEIGHBORS.length];
        return this.#sql.rows<StoredLine>(LINES_AROUND, { fileId: item.fileId, from, to, ...search.days });
      });
      const unread = new Map(near.map((line) => [line.id, line]));
      for (const { id } of lines) unread.delete(id);
      places = await this.#rank([...unread.values()].map(scannedLine), scan);
    }
    return places;
  }

  /** Adds lines to a scan, and ranks those that pass the filter. Long scans yield to other work. */
  async #rank(lines: Iterable<ScannedLine>, scan: TextScan<StoredLine>): Promise<Places> {
    let chars = 0;
    for (const line of lines) {
      chars += line.text.length;
      if (chars > CHARS_PER_SLICE) chars = await setImmediate(0);
      scan.add(line);
    }
    await setImmediate();
    return scan.best().filter(({ item }) => item.passes === 1);
  }

  /**
   * Returns the lines with the highest-weighted words of the query, best first: all lines of the rarest words, and for words that are too
   * frequent, the lines with two of them. For keywords, lines with all of them suffice if there are enough.
   */
  async #candidates(search: Search, wanted: number): Promise<readonly number[]> {
    const { query, ranges, collection, days } = search;
    const { terms, isQuestion } = query;
    const condition = days.since === null && days.until === null ? '' : ALLOWED;
    const weights = termWeights(query, collection);
    const chosen = terms
      .map((term, index) => ({ term, weight: weights[index] ?? 0, count: collection.counts[index] ?? 0 }))
      // Skip terms that occur in no line, so that they do not replace terms that occur.
      .filter(({ term, count }) => term.weight === query.mostWeight && count > 0)
      .sort((left, right) => right.weight - left.weight)
      .slice(0, MOST_TERMS);
    /** By line, a bit for each chosen term that the line is known to contain. */
    const found = new Map<number, number>();
    const find = async (places: readonly number[]) => {
      const match = places.map((place) => expressionOf(chosen[place]?.term.text)).join(' AND ');
      const bits = places.reduce((sum, place) => sum | (1 << place), 0);
      for (const range of ranges) {
        await setImmediate();
        const newest = `${NEWEST} ${condition} ORDER BY rowid DESC LIMIT ${SCORED}`;
        for (const id of this.#sql.column<number>(newest, { match, ...range, ...(condition && days) }))
          found.set(id, (found.get(id) ?? 0) | bits);
      }
    };
    let matching = 0;
    const all = [...chosen.keys()];
    const rare = all.filter((place) => {
      matching += chosen[place]?.count ?? 0;
      return matching <= SCORED;
    });
    const pairs = all
      .slice(0, PAIRED_TERMS)
      .flatMap((one) => all.slice(Math.max(one + 1, rare.length), PAIRED_TERMS).map((other) => [one, other]));
    const keywords = isQuestion ? [] : all.filter((place) => chosen[place]?.term.isExtra === false);
    const steps = [
      keywords.length > 1 ? [keywords] : [],
      [...rare.map((place) => [place]), ...pairs],
      all.slice(rare.length, rare.length + 1).map((place) => [place]),
    ];
    for (const step of steps) if (found.size < wanted) for (const places of step) await find(places);
    const scoreOf = (bits: number) =>
      chosen.reduce((sum, { weight }, place) => sum + ((bits >> place) & 1) * weight, 0);
    const scores = new Map([...new Set(found.values())].map((bits) => [bits, scoreOf(bits)]));
    return [...found]
      .map(([id, bits]) => ({ id, score: scores.get(bits) ?? 0 }))
      .sort((left, right) => right.score - left.score || right.id - left.id)
      .map(({ id }) => id);
  }

  /** A value that changes when this or another connection writes. */
  #version(): string {
    return VERSION.map((sql) => this.#sql.column(sql)[0]).join();
  }

  async #countAll({ terms }: SearchQuery, ranges: Search['ranges']): Promise<readonly number[]> {
    const version = this.#version();
    if (version !== this.#countedFor || this.#counts.size > MAX_COUNTED) this.#counts.clear();
    this.#countedFor = version;
    const sums: number[] = [];
    for (const expression of terms.map(({ text }) => expressionOf(text))) {
      let sum = 0;
      for (const { first, last } of ranges) {
        const key = `${first} ${expression}`;
        const known = this.#counts.get(key);
        const count = known ?? this.#sql.column<number>(COUNT, expression, first, last)[0] ?? 0;
        if (known === undefined) await setImmediate(this.#counts.set(key, count));
        sum += count;
      }
      sums.push(sum);
    }
    return sums;
  }

  /** Returns the lines of the most promising texts. */
  async #read(search: Search): Promise<readonly StoredLine[]> {
    const most = search.query.isQuestion ? QUESTION_TEXTS : KEYWORD_TEXTS;
    const promising = await this.#candidates(search, most);
    const texts = new Set<string>();
    const lines: StoredLine[] = [];
    // A long text has many lines, so read on until there are enough texts.
    for (let from = 0; from < promising.length && texts.size < most; from += READ_AT_ONCE) {
      await setImmediate();
      const ids = JSON.stringify(promising.slice(from, from + READ_AT_ONCE));
      for (const line of this.#sql.rows<StoredLine>(LINES_OF, { ids, ...search.days })) {
        texts.add(`${line.fileId} ${line.number}`);
        lines.push(line);
      }
    }
    return lines;
  }
}

function scannedLine(line: StoredLine): ScannedLine {
  const { id, fileId, number, day, content } = line;
  return { file: fileId, number, day, order: id, text: content, extra: dateTermsOf(day), item: line };
}

/** Tokenizes lines. Yields to other work if there are many. */
async function takeApart(lines: readonly StoredLine[]): Promise<Omit<FewLines, 'key'>> {
  const texts: ScannedLine[] = [];
  const places = new Map<string, number[]>();
  let chars = 0;
  for (const [index, line] of lines.entries()) {
    chars += line.content.length;
    if (chars > CHARS_PER_SLICE) chars = await setImmediate(0);
    const terms = tokenizer.terms(line.content);
    const { extra = [], ...text } = scannedLine(line);
    texts.push({ ...text, length: terms.length });
    for (const term of [...terms, ...extra]) {
      const known = places.get(term);
      if (known === undefined) places.set(term, [index]);
      else known.push(index);
    }
  }
  return { texts, places };
}

/** Returns the lines that contain words of a query, their neighbors, and the number of lines per term. */
function textsNear({ terms, mostWeight, isQuestion }: SearchQuery, { texts, places }: FewLines) {
  const found = terms.map(({ text }) => places.get(text) ?? []);
  // The score of a neighbor counts its own neighbors.
  const reach = isQuestion ? 2 * NEIGHBORS.length : 0;
  const near = new Map<number, string[]>();
  for (const [term, lines] of found.entries()) {
    if (terms[term]?.weight !== mostWeight) continue;
    for (const line of lines)
      for (let at = line - reach; at <= line + reach; at++) if (!near.has(at)) near.set(at, []);
  }
  for (const [term, lines] of found.entries())
    for (const line of lines) near.get(line)?.push(terms[term]?.text ?? '');
  return {
    counts: found.map((lines) => new Set(lines).size),
    texts: texts.flatMap((text, index) =>
      near.has(index) ? [{ ...text, terms: near.get(index) ?? [] }] : [],
    ),
  };
}

/** Returns a term as a full-text expression. Terms contain only letters, digits and underscores, so they need no escaping. */
function expressionOf(term = ''): string {
  return `"${term}"`;
}
