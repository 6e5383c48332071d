import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureBuilds } from './memory-build.js';
import { keywordQueries, questionQueries, readMarkdown } from './memory-lines.js';
import { measureRecall } from './memory-recall.js';
import { measureReindexing } from './memory-reindex.js';
import { measureSearch } from './memory-search-speed.js';

const LINES = 100_000;
const QUERIES_PER_LENGTH = 300;

/**
 * The memory's index beside the textbook's query, bare better-sqlite3, minisearch and flexsearch, on 100 000 lines of
 * Markdown; and, with `data`, how often it finds what questions about long conversations ask for.
 *
 * @param options `data`: a folder with `qmsum.json.gz` and `bfcl-memory.json.gz`.
 */
export async function benchMemory({ data }: { readonly data?: string | undefined } = {}): Promise<void> {
  if (data === undefined) console.log('Recall is left out: it needs --data DIR.');
  else console.table((await measureRecall(data)).map(rounded));
  const directory = mkdtempSync(join(tmpdir(), 'x-bench-'));
  try {
    const path = join(directory, 'memory_index.db');
    const files = readMarkdown(LINES);
    console.log(`Building an index of ${LINES} lines`);
    console.table((await measureBuilds(path, files)).map(rounded));

    for (const [kind, queries] of [
      ['1 to 3 words', keywordQueries(files, QUERIES_PER_LENGTH)],
      ['questions of which 3 words matter', questionQueries(files, QUERIES_PER_LENGTH)],
    ] as const) {
      const search = await measureSearch(path, queries);
      console.log(`Searching it, ms (${search.queries}: ${kind}; ORDER BY rank is given those words alone)`);
      console.table({
        '@x/memory': rounded(search.ours),
        'ORDER BY rank': rounded(search.textbook),
        ratio: rounded({
          p50: search.ours.p50 / search.textbook.p50,
          p95: search.ours.p95 / search.textbook.p95,
        }),
      });
    }

    const again = await measureReindexing(path, files);
    console.log('Indexing a file of 50 KB again, ms');
    console.table({
      '@x/memory': rounded({ 'all lines new': again.ours, 'one line new': again.oursOneLine }),
      'bare better-sqlite3': rounded({ 'all lines new': again.bare, 'one line new': again.bareOneLine }),
      ratio: rounded({
        'all lines new': again.ours / again.bare,
        'one line new': again.oursOneLine / again.bareOneLine,
      }),
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function rounded<Row extends object>(row: Row): object {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      typeof value === 'number' ? Number(value.toPrecision(4)) : value,
    ]),
  );
}
