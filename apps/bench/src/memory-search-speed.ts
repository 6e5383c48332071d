import { MemoryIndex } from '@x/memory';
import Sqlite from 'better-sqlite3';
import type { KeywordQuery } from './memory-lines.js';
import { quantile } from './statistics.js';

const LIMIT = 10;
const ROUNDS = 3;

interface TextbookHit {
  readonly place: string;
  readonly rank: number;
}

export interface SearchSpeed {
  readonly queries: number;
  /** Milliseconds. */
  readonly ours: { readonly p50: number; readonly p95: number };
  readonly textbook: { readonly p50: number; readonly p95: number };
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
  for (const { text } of queries.slice(0, 50)) await index.search(text);
  for (const query of queries) {
    times.ours.push(await best(() => index.search(query.text, { limit: LIMIT })));
    times.textbook.push(await best(async () => textbook(query.stems, LIMIT)));
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
  };
}

/** The milliseconds of the fastest of some runs: what other programs on the machine take away is not the query's. */
async function best(run: () => Promise<unknown>): Promise<number> {
  let milliseconds = Number.POSITIVE_INFINITY;
  for (let round = 0; round <= ROUNDS; round++) {
    const started = performance.now();
    await run();
    if (round > 0) milliseconds = Math.min(milliseconds, performance.now() - started);
  }
  return milliseconds;
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
