import { setImmediate } from 'node:timers/promises';
import { type Collection, NEIGHBORS, type SearchQuery, TextScan, termWeights } from '@x/core/internal';
import { dateTermsOf } from './dates.js';
import type { Connection } from './index-database.js';
import { tokenizer } from './query.js';
import { idsOfScope } from './scopes.js';

/** Lines of each word, or pair of words, that are compared by the words they have: the newest ones. */
const SCORED = 1_000;
/** Texts that are read and ranked for a question and for keywords: all that a search among many lines finds, on whatever page. */
const QUESTION_TEXTS = 250;
const KEYWORD_TEXTS = 50;
/** The best lines, whose neighbors are read as well. */
const BEST = 24;

/** So few lines are all read, so that nothing of their ranking is estimated. */
const FEW_LINES = 1_000;
/** Of so many of the weightiest terms, lines with two of them are looked for. */
const PAIRED_TERMS = 5;
/** Terms by which lines are compared before they are read. */
const MOST_TERMS = 30;
/** Characters that are taken apart before others get their turn. */
const CHARS_PER_SLICE = 40_000;
/** Lines that are read before others get their turn. */
const READ_AT_ONCE = 50;
const MAX_AROUND = 20;
const MAX_COUNTED = 1_000;

/** Which lines a search may find. */
export interface LineFilter {
  readonly prefix?: string | undefined;
  /** Days since 1970, both included; undated lines are left out. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** A line as it is stored. */
interface StoredLine {
  readonly id: number;
  readonly fileId: number;
  readonly number: number;
  readonly day: number | null;
  readonly content: string;
  /** 1 when the filter allows it: the neighbor of a line may be outside. */
  readonly passes: 0 | 1;
}

type Places = ReturnType<TextScan<StoredLine>['best']>;

/** A line as it is added to a scan. */
type ScannedLine = Parameters<TextScan<StoredLine>['add']>[0];

/** Lines of which all terms are known. */
interface FewLines {
  /** What the lines were read for. */
  readonly key: string;
  readonly texts: readonly ScannedLine[];
  /** For each term, the indexes of the lines that have it, each as often as it occurs there. */
  readonly places: ReadonlyMap<string, readonly number[]>;
}

/** What one search looks for, and where. */
interface Search {
  readonly query: SearchQuery;
  readonly ranges: readonly ReturnType<typeof idsOfScope>[];
  readonly collection: Collection;
  readonly days: { readonly since: number | null; readonly until: number | null };
}

/** The scopes that a filter allows: what is outside of them is neither found nor counted. */
const SCOPES =
  'SELECT id, lines, terms FROM scopes WHERE lines > 0 AND (:prefix IS NULL OR prefix = :prefix)';
/** Whether a line passes a filter within its scopes. */
const PASSES = '((:since IS NULL OR lines.day >= :since) AND (:until IS NULL OR lines.day <= :until))';
const LINES = `SELECT id, file_id AS fileId, number, day, content, ${PASSES} AS passes FROM lines WHERE`;
const LINES_OF = `${LINES} id IN (SELECT value FROM json_each(:ids))`;
/** In the order of their files, because a line is ranked with its neighbors. */
const LINES_BETWEEN = `${LINES} id BETWEEN :first AND :last ORDER BY file_id, number`;
const LINES_AROUND = `${LINES} file_id = :fileId AND number BETWEEN :from AND :to LIMIT ${MAX_AROUND}`;
const PATH = 'SELECT path FROM files WHERE id = ?';
const COUNT = 'SELECT count(*) FROM line_terms WHERE line_terms MATCH ? AND rowid BETWEEN ? AND ?';
const VERSION = ['PRAGMA data_version', 'SELECT total_changes()'];
/** The newest lines that match a full-text expression. */
const NEWEST =
  'SELECT rowid FROM line_terms WHERE line_terms MATCH :match AND rowid BETWEEN :first AND :last';
const ALLOWED = `AND EXISTS (SELECT 1 FROM lines WHERE id = line_terms.rowid AND ${PASSES})`;

/** Finds lines by words: of those with the weightiest words the most promising are read, and ranked with their neighbors. */
export class LineSearch {
  readonly #sql: Connection;
  /** How many lines have a term: counting reads all that is indexed of it, so it is done once until the index changes. */
  readonly #counts = new Map<string, number>();
  #countedFor = '';
  /** The few lines of the place that was searched last, until the index changes: to read them costs more than to rank them. */
  #few: FewLines = { key: '', texts: [], places: new Map() };

  constructor(connection: Connection) {
    this.#sql = connection;
  }

  /** Returns the places from `from` to before `to` of the ranking. While much is read, others get their turn. */
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
      // The answer to a question may stand next to the best lines.
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

  /** Adds lines to a scan, and ranks all that pass the filter. While many are compared, others get their turn. */
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
   * The lines with the weightiest of the query's words, the best first: of the rarest words all, of the others, which too many
   * lines have, those with two of them. Of keywords, those with all are enough where there are as many as wanted.
   */
  async #candidates(search: Search, wanted: number): Promise<readonly number[]> {
    const { query, ranges, collection, days } = search;
    const { terms, isQuestion } = query;
    const condition = days.since === null && days.until === null ? '' : ALLOWED;
    const weights = termWeights(query, collection);
    const chosen = terms
      .map((term, index) => ({ term, weight: weights[index] ?? 0, count: collection.counts[index] ?? 0 }))
      // A term that no line has must not take the place of one that some lines have.
      .filter(({ term, count }) => term.weight === query.mostWeight && count > 0)
      .sort((left, right) => right.weight - left.weight)
      .slice(0, MOST_TERMS);
    /** By line, a bit for each chosen term that it is known to have. */
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

  /** Changes when other connections write, and when this one does. */
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

  /** The lines of the texts that promise most. */
  async #read(search: Search): Promise<readonly StoredLine[]> {
    const most = search.query.isQuestion ? QUESTION_TEXTS : KEYWORD_TEXTS;
    const promising = await this.#candidates(search, most);
    const texts = new Set<string>();
    const lines: StoredLine[] = [];
    // A long text has many lines: more are read until there are as many texts as are wanted.
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

/** Takes lines apart into terms. While many are taken apart, others get their turn. */
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

/** The lines that have words of a query, and their neighbors; for each term, how many of all lines have it. */
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

/** A term as a full-text expression. Terms have no quotes: they are letters, digits and underscores. */
function expressionOf(term = ''): string {
  return `"${term}"`;
}
