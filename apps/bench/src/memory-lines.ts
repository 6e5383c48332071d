import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { seededRandom } from './corpus.js';

/** A Markdown file of an installed package. */
export interface MarkdownFile {
  readonly path: string;
  readonly text: string;
}

export interface KeywordQuery {
  readonly text: string;
  /** The words' stems, as SQLite makes them. */
  readonly stems: readonly string[];
}

/** The Markdown of the packages that are installed, each text once, until there are so many lines with text. */
export function readMarkdown(maxLines: number): readonly MarkdownFile[] {
  const root = fileURLToPath(new URL('../../../node_modules/.pnpm/', import.meta.url));
  const seen = new Set<string>();
  const files: MarkdownFile[] = [];
  let lines = 0;
  for (const path of markdownBelow(root)) {
    const all = readFileSync(join(root, path), 'utf8');
    if (seen.has(all)) continue;
    seen.add(all);
    const kept = linesOf(all).slice(0, maxLines - lines);
    lines += kept.length;
    files.push({ path, text: kept.join('\n') });
    if (lines === maxLines) break;
  }
  return files;
}

/** `<package>@<version>/node_modules/[@<scope>/]<package>/[<folder>/]*.md`, in order. */
function* markdownBelow(root: string, folder = '', depth = 0): Iterable<string> {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  for (const entry of entries.sort((left, right) => (left.name < right.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    // Links lead to packages that have a folder of their own.
    if (entry.isDirectory() && depth < 5) yield* markdownBelow(root, path, depth + 1);
    else if (entry.isFile() && entry.name.endsWith('.md')) yield path;
  }
}

export function linesOf(text: string): string[] {
  return text.split(/\r\n|\n|\r/).filter((line) => line.trim() !== '');
}

/** Queries of one to three words that stand together in a line somewhere, common ones too; so many of each length. */
export function keywordQueries(files: readonly MarkdownFile[], perLength: number): readonly KeywordQuery[] {
  const random = seededRandom(20_261_122);
  const lines = files.flatMap(({ text }) => linesOf(text));
  const texts = [1, 2, 3].flatMap((length) => {
    const queries: string[] = [];
    while (queries.length < perLength) {
      const line = lines[Math.floor(random() * lines.length)] ?? '';
      const words = [...new Set(line.match(/\b[A-Za-z][a-z]{2,}\b/g)?.map((word) => word.toLowerCase()))];
      if (words.length < length) continue;
      const start = Math.floor(random() * (words.length - length + 1));
      queries.push(words.slice(start, start + length).join(' '));
    }
    return queries;
  });
  const stemOf = stems(texts.flatMap((text) => text.split(' ')));
  return texts.map((text) => ({ text, stems: text.split(' ').map((word) => stemOf.get(word) ?? word) }));
}

/** Questions in words that stand together in a line somewhere. */
export function questionQueries(files: readonly MarkdownFile[], count: number): readonly KeywordQuery[] {
  return keywordQueries(files, count)
    .filter(({ stems: words }) => words.length === 3)
    .map(({ text, stems: words }) => {
      const [first, second, third] = text.split(' ');
      return { text: `What does the ${first} of a ${second} have to do with its ${third}?`, stems: words };
    });
}

/** What SQLite's own stemmer makes of words. */
function stems(words: readonly string[]): ReadonlyMap<string, string> {
  const database = new Sqlite(':memory:');
  database.exec(`CREATE VIRTUAL TABLE words USING fts5 (word, tokenize = 'porter ascii');
    CREATE VIRTUAL TABLE stems USING fts5vocab (words, instance)`);
  const distinct = [...new Set(words)];
  const insert = database.prepare('INSERT INTO words (rowid, word) VALUES (?, ?)');
  for (const [index, word] of distinct.entries()) insert.run(index + 1, word);
  const rows = database.prepare<[], { term: string; doc: number }>('SELECT term, doc FROM stems').all();
  database.close();
  return new Map(rows.map(({ term, doc }) => [distinct[doc - 1] ?? '', term]));
}
