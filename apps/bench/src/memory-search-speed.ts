import { MemoryIndex } from '@x/memory';
import Sqlite from 'better-sqlite3';
import type { KeywordQuery } from './memory-lines.js';
import { quantile } from './statistics.js';

const LIMIT = 10;
const ROUNDS = 3;
/** Ranks closer than this are equal: the two are summed in different orders. */
const EPSILON = 1e-6;

interface TextbookHit {
  readonly place: string;
  readonly rank: number;
}

export interface SearchSpeed {
  readonly queries: number;
  /** Milliseconds. */
  readonly ours: { readonly p50: number; readonly p95: number };
  readonly textbook: { readonly p50: number; readonly p95: number };
  /** Share of the queries whose first ten are the same lines, but for lines of equal rank. */
  readonly sameHits: number;
}

/**
 * Searches an index through `MemoryIndex`, and by the query that every textbook has: all words, `ORDER BY rank`; when
 * that gives too few, once more with any of them. Both take turns on one file.
 */
export async function measureSearch(path: string, queries: readonly KeywordQuery[]): Promise<SearchSpeed> {
  const index = await MemoryIndex.open(path, { readOnly: true });
  const database = new Sqlite(path, { readonly: true });
  database.pragma('cache_size = -32000');
  const textbook = textbookSearch(database);
  const times = { ours: [] as number[], textbook: [] as number[] };
  let same = 0;
  for (const { text } of queries.slice(0, 50)) await index.search(text);
  for (const query of queries) {
    const ours = await best(() => index.search(query.text, { limit: LIMIT }));
    const theirs = await best(async () => textbook(query.stems, LIMIT));
    times.ours.push(ours.milliseconds);
    times.textbook.push(theirs.milliseconds);
    const hits = ours.result;
    const expected = theirs.result;
    if (
      isSame(
        hits.map(({ path, lineNumber }) => `${path}:${lineNumber}`),
        expected,
        () => textbook(query.stems, 100_000),
      )
    )
      same++;
  }
  index.close();
  database.close();
  const figures = (values: readonly number[]) => ({
    p50: quantile(values, 0.5),
    p95: quantile(values, 0.95),
  });
  return {
    queries: queries.length,
    ours: figures(times.ours),
    textbook: figures(times.textbook),
    sameHits: same / queries.length,
  };
}

/** The fastest of some runs: what other programs on the machine take away is not the query's. */
async function best<Result>(
  run: () => Promise<Result>,
): Promise<{ readonly milliseconds: number; readonly result: Result }> {
  let milliseconds = Number.POSITIVE_INFINITY;
  let result = await run();
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    result = await run();
    milliseconds = Math.min(milliseconds, performance.now() - started);
  }
  return { milliseconds, result };
}

function textbookSearch(
  database: Sqlite.Database,
): (stems: readonly string[], limit: number) => readonly TextbookHit[] {
  const find = database.prepare<
    [string, number],
    { path: string; number: number; content: string; rank: number }
  >(
    `SELECT files.path, lines.number, lines.content, line_terms.rank
     FROM line_terms JOIN lines ON lines.id = line_terms.rowid JOIN files ON files.id = lines.file_id
     WHERE line_terms MATCH ? ORDER BY line_terms.rank LIMIT ?`,
  );
  const hitsOf = (expression: string, limit: number) =>
    find.all(expression, limit).map(({ path, number, rank }) => ({ place: `${path}:${number}`, rank }));
  return (stems, limit) => {
    const quoted = stems.map((stem) => `"${stem}"`);
    const all = hitsOf(quoted.join(' AND '), limit);
    if (all.length === limit || stems.length === 1) return all;
    const seen = new Set(all.map(({ place }) => place));
    const some = hitsOf(quoted.join(' OR '), limit).filter(({ place }) => !seen.has(place));
    return [...all, ...some].slice(0, limit);
  };
}

/** Whether every hit is among the expected ones, or as good as the last of them. */
function isSame(
  hits: readonly string[],
  expected: readonly TextbookHit[],
  more: () => readonly TextbookHit[],
): boolean {
  if (hits.length !== expected.length) return false;
  const places = new Set(expected.map(({ place }) => place));
  const others = hits.filter((place) => !places.has(place));
  if (others.length === 0) return true;
  const worst = expected.at(-1)?.rank ?? 0;
  const ranks = new Map(more().map(({ place, rank }) => [place, rank]));
  return others.every((place) => (ranks.get(place) ?? 0) <= worst + EPSILON);
}
