import { existsSync, rmSync, statSync } from 'node:fs';
import { MemoryIndex } from '@x/memory';
import Sqlite from 'better-sqlite3';
import flexsearch from 'flexsearch';
import MiniSearch from 'minisearch';
import { linesOf, type MarkdownFile } from './memory-lines.js';

export interface Build {
  readonly name: string;
  /** Lines a second. */
  readonly rate: number;
  readonly megabytes: number;
  /** Where the megabytes are. */
  readonly place: 'disk' | 'exported';
}

interface Line {
  readonly id: number;
  readonly content: string;
}

/** Indexes the same lines with each contender, once; ours stays at `path`. */
export async function measureBuilds(path: string, files: readonly MarkdownFile[]): Promise<readonly Build[]> {
  const lines = files.flatMap(({ text }) => linesOf(text)).map((content, id): Line => ({ id, content }));
  const rateSince = (started: number) => (lines.length / (performance.now() - started)) * 1_000;
  const builds: Build[] = [];

  let started = performance.now();
  const index = await MemoryIndex.open(path);
  for (const file of files) await index.indexFromString(file.path, file.text);
  builds.push({ name: '@x/memory', rate: rateSince(started), megabytes: sizeOf(path), place: 'disk' });
  index.close();

  const barePath = `${path}.bare`;
  started = performance.now();
  const bare = openBare(barePath);
  for (const file of files) bare.replace(file.path, file.text);
  builds.push({
    name: 'bare better-sqlite3, FTS5',
    rate: rateSince(started),
    megabytes: sizeOf(barePath),
    place: 'disk',
  });
  bare.close();
  deleteDatabase(barePath);

  started = performance.now();
  const mini = new MiniSearch<Line>({ fields: ['content'], storeFields: ['content'] });
  mini.addAll(lines);
  const miniRate = rateSince(started);
  builds.push({
    name: 'minisearch',
    rate: miniRate,
    megabytes: JSON.stringify(mini).length / 1e6,
    place: 'exported',
  });

  started = performance.now();
  const flex = new flexsearch.Document<{ id: number; content: string }>({
    document: { id: 'id', store: true, index: [{ field: 'content', tokenize: 'strict' }] },
  });
  for (const line of lines) flex.add({ ...line });
  const flexRate = rateSince(started);
  let exported = 0;
  await flex.export((_key: string, data: unknown) => {
    exported += typeof data === 'string' ? data.length : 0;
  });
  builds.push({ name: 'flexsearch', rate: flexRate, megabytes: exported / 1e6, place: 'exported' });
  return builds;
}

/** An index without a library. */
export interface BareIndex {
  replace(file: string, text: string): void;
  close(): void;
}

/** What one writes without a library: a table of lines, a full-text index of it, and files replaced whole. */
export function openBare(path: string): BareIndex {
  const database = new Sqlite(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  database.exec(`
    CREATE TABLE lines (id INTEGER PRIMARY KEY, path TEXT NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL);
    CREATE INDEX lines_by_path ON lines (path);
    CREATE VIRTUAL TABLE terms USING fts5 (content, tokenize = 'porter unicode61');`);
  const idsOf = database.prepare<[string], number>('SELECT id FROM lines WHERE path = ?').pluck();
  const removeTerms = database.prepare('DELETE FROM terms WHERE rowid = ?');
  const removeLines = database.prepare('DELETE FROM lines WHERE path = ?');
  const insertLine = database.prepare('INSERT INTO lines (path, number, content) VALUES (?, ?, ?)');
  const insertTerms = database.prepare('INSERT INTO terms (rowid, content) VALUES (?, ?)');
  const replace = database.transaction((file: string, text: string) => {
    for (const id of idsOf.all(file)) removeTerms.run(id);
    removeLines.run(file);
    for (const [index, content] of text.split('\n').entries()) {
      const { lastInsertRowid } = insertLine.run(file, index + 1, content);
      insertTerms.run(lastInsertRowid, content);
    }
  });
  return {
    replace: (file, text) => replace(file, text),
    close: () => {
      database.close();
    },
  };
}

export function deleteDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
}

function sizeOf(path: string): number {
  const database = new Sqlite(path);
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
  return existsSync(path) ? statSync(path).size / 1e6 : 0;
}
