import { MemoryIndex } from '@x/memory';
import { quantile, round, timed } from './statistics.js';

const LINES = 100_000;
const LINES_PER_FILE = 500;
const WORDS_PER_LINE = 18;
const QUERIES = 200;
const LIMIT = 10;

/** Measures searches over 100 000 lines, and the cost of indexing one changed line compared with that of indexing all. */
export async function measureSpeed(texts: readonly string[], questions: readonly string[]): Promise<void> {
  const words = texts.flatMap((text) => text.split(/\s+/));
  const lines = Array.from({ length: LINES }, (_, at) => {
    const from = (at * WORDS_PER_LINE) % Math.max(1, words.length - WORDS_PER_LINE);
    return words.slice(from, from + WORDS_PER_LINE).join(' ');
  });
  const files = Array.from({ length: LINES / LINES_PER_FILE }, (_, at) =>
    lines.slice(at * LINES_PER_FILE, (at + 1) * LINES_PER_FILE),
  );
  const index = await MemoryIndex.open(':memory:');
  const indexAll = async () => {
    for (const [at, file] of files.entries()) await index.indexFromString(`${at}.md`, file.join('\n'));
  };
  const build = await timed(indexAll);
  files[7]?.splice(250, 1, 'one line that was not there');
  const changed = await timed(indexAll);

  const asked = questions.slice(0, QUERIES);
  const table: Record<string, Record<string, number>> = {};
  for (const [kind, queries] of Object.entries({ question: asked, keywords: asked.map(keywordsOf) })) {
    const times: number[] = [];
    for (const query of queries) times.push(await timed(() => index.search(query, { limit: LIMIT })));
    table[kind] = { 'p50 ms': round(quantile(times, 0.5), 1), 'p95 ms': round(quantile(times, 0.95), 1) };
  }
  console.table(table);
  console.log(
    `${LINES} lines: built in ${(build / 1000).toFixed(1)} s; again after one line changed in ${changed.toFixed(0)} ms, ` +
      `${((100 * changed) / build).toFixed(1)} % of building.`,
  );
  index.close();
}

/** Returns the two longest words of a question. */
function keywordsOf(question: string): string {
  const words = question.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words
    .toSorted((left, right) => right.length - left.length)
    .slice(0, 2)
    .join(' ');
}
