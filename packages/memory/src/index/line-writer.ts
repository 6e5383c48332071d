import { setImmediate } from 'node:timers/promises';
import { piecesOf } from '@x/core/internal';
import { hashOf, withoutMark } from '../notes.js';
import { dateTermsOf, dayOfPath } from './dates.js';
import type { Connection } from './index-database.js';
import { tokenizer } from './query.js';
import { idsOfScope, scopeOfPath } from './scopes.js';

/** Rows that are processed before yielding to other work: a few milliseconds. */
const ROWS_PER_SLICE = 25;
/** Rows that are read at once. */
const ROWS_READ = 200;
/** Pages that the full-text index merges at once. */
const MERGED_PAGES = 100;
const STORED = `SELECT id, number, content FROM lines WHERE file_id = ? AND (number, id) > (?, ?)
  ORDER BY number, id LIMIT ${ROWS_READ}`;
const INSERT_LINE = 'INSERT INTO lines (id, file_id, number, day, content) VALUES (?, ?, ?, ?, ?)';
const MERGE = `INSERT INTO line_terms (line_terms, rank) VALUES ('merge', ?)`;
const NEWEST = 'SELECT max(id) FROM lines WHERE id BETWEEN ? AND ?';
const INSERT_TERMS = 'INSERT INTO line_terms (rowid, terms) VALUES (?, ?)';
const SCOPE =
  'INSERT INTO scopes (prefix) VALUES (?) ON CONFLICT (prefix) DO UPDATE SET prefix = prefix RETURNING id';
const FILE = `INSERT INTO files (scope_id, path, hash, mark) VALUES (?, ?, ?, ?)
  ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, mark = excluded.mark RETURNING id`;
const DELETIONS = ['lines WHERE id', 'line_terms WHERE rowid'].map(
  (rest) => `DELETE FROM ${rest} IN (SELECT value FROM json_each(?))`,
);

type IndexedLine = { readonly id: number; readonly number: number; readonly content: string };

/** The record of a file: a hash of its text, and a mark that shows that the file has not changed (`null` if unknown). */
export type FileRecord = { readonly hash: string; readonly mark: string | null };

/** A file whose lines are being changed. */
interface Change {
  readonly fileId: number;
  readonly scopeId: number;
  /** The changes to the scope's statistics. */
  lines: number;
  terms: number;
  /** Rows since the last yield. */
  slice: number;
}

/** Writes files into an index. Long writes yield to other work. */
export class LineWriter {
  readonly #sql: Connection;

  constructor(connection: Connection) {
    this.#sql = connection;
  }

  /** Replaces a file's lines by those of `text`. If `text` is empty, the file is removed. Unchanged lines are not rewritten. */
  async replaceText(path: string, text: string, mark: string | null = null): Promise<void> {
    const hash = hashOf(text);
    const known = this.fileOf(path);
    const isSame = text === '' ? known === undefined : known?.hash === hash && known.mark === mark;
    if (isSame) return;
    const write = () =>
      known?.hash === hash
        ? this.#sql.run('UPDATE files SET mark = ? WHERE path = ?', mark, path)
        : this.#replace(path, { hash, mark }, text);
    await this.#write(write);
  }

  fileOf(path: string): FileRecord | undefined {
    return this.#sql.rows<FileRecord>('SELECT hash, mark FROM files WHERE path = ?', path)[0];
  }

  /** Returns the indexed files whose path begins with `prefix`. */
  pathsOf(prefix: string): string[] {
    return this.#sql.column('SELECT path FROM files WHERE substr(path, 1, length(?)) = ?', prefix, prefix);
  }

  /** Returns all scopes that have lines. */
  scopes(): readonly string[] {
    return this.#sql.column('SELECT prefix FROM scopes WHERE lines > 0');
  }

  /** Purges deleted text from the file. The full-text index keeps it until it is merged, the write-ahead log until it is written back. */
  async purge(): Promise<void> {
    if (this.#sql.column(`SELECT 1 FROM settings WHERE name = 'deleted'`).length === 0) return;
    await this.#write(async () => {
      await this.#merge(-MERGED_PAGES);
      this.#sql.run(`DELETE FROM settings WHERE name = 'deleted'`);
    });
    await this.#sql.checkpoint();
  }

  /** Merges segments of the full-text index, a few pages at a time. A negative number merges everything. */
  async #merge(pages: number): Promise<void> {
    const changes = () => this.#sql.column<number>('SELECT total_changes()')[0] ?? 0;
    for (let next = pages; ; next = MERGED_PAGES) {
      const before = changes();
      this.#sql.run(MERGE, next);
      // A merge without work changes fewer than two rows, as SQLite documents.
      if (changes() - before < 2) return;
      await this.#sql.commitPart();
      await setImmediate();
    }
  }

  #write<T>(task: () => Promise<T> | T): Promise<T> {
    return this.#sql.transaction('BEGIN IMMEDIATE', task);
  }

  async #replace(path: string, { hash, mark }: FileRecord, text: string): Promise<void> {
    // Hashing a long text takes time, so yield first.
    await setImmediate();
    const [scopeId = 0] = this.#sql.column<number>(SCOPE, scopeOfPath(path));
    const [fileId = 0] = this.#sql.column<number>(FILE, scopeId, path, hash, mark);
    const change = { fileId, scopeId, lines: 0, terms: 0, slice: 0 };
    const stored = await this.#stored(fileId);
    const added: Omit<IndexedLine, 'id'>[] = [];
    const lines = (text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text).split('\n');
    for (const [index, line] of lines.entries()) {
      const number = index + 1;
      // Do not index the comment with a line's origin. Replace NUL, because SQLite in Node 22 reads a text only to its first NUL.
      for (const content of piecesOf(withoutMark(line).replaceAll('\0', ' '))) {
        const known = stored.get(content)?.shift();
        const isMoved = known !== undefined && known.number !== number;
        if (isMoved) this.#sql.run('UPDATE lines SET number = ? WHERE id = ?', number, known.id);
        if (known === undefined) added.push({ number, content });
        await this.#pause(change);
      }
    }
    await this.#remove([...stored.values()].flat(), change);
    await this.#add(added, dayOfPath(path) ?? null, change);
    if (text === '') this.#sql.run('DELETE FROM files WHERE id = ?', fileId);
    const sql = 'UPDATE scopes SET lines = lines + ?, terms = terms + ? WHERE id = ?';
    this.#sql.run(sql, change.lines, change.terms, scopeId);
    await this.#merge(MERGED_PAGES);
  }

  /** Returns the indexed lines of a file by content. Lines with the same content are in file order. */
  async #stored(fileId: number): Promise<Map<string, IndexedLine[]>> {
    const stored = new Map<string, IndexedLine[]>();
    let rows: IndexedLine[] = [];
    do {
      const { number = 0, id = 0 } = rows.at(-1) ?? {};
      rows = this.#sql.rows(STORED, fileId, number, id);
      for (const row of rows) {
        const same = stored.get(row.content);
        if (same === undefined) stored.set(row.content, [row]);
        else same.push(row);
      }
      await setImmediate();
    } while (rows.length === ROWS_READ);
    return stored;
  }

  /** Yields to other work after some rows. */
  async #pause(change: Change): Promise<void> {
    if (++change.slice % ROWS_PER_SLICE === 0) await setImmediate();
  }

  async #add(lines: readonly Omit<IndexedLine, 'id'>[], day: number | null, change: Change): Promise<void> {
    const { first, last } = idsOfScope(change.scopeId);
    let id = this.#sql.column<number>(NEWEST, first, last)[0] ?? first;
    for (const { number, content } of lines) {
      await this.#pause(change);
      const terms = tokenizer.terms(content);
      change.lines++;
      change.terms += terms.length;
      this.#sql.run(INSERT_LINE, ++id, change.fileId, number, day, content);
      this.#sql.run(INSERT_TERMS, id, [...terms, ...dateTermsOf(day)].join(' '));
    }
  }

  async #remove(lines: readonly IndexedLine[], change: Change): Promise<void> {
    if (lines.length > 0) this.#sql.run(`INSERT OR IGNORE INTO settings VALUES ('deleted', '1')`);
    for (let from = 0; from < lines.length; from += ROWS_PER_SLICE) {
      const slice = lines.slice(from, from + ROWS_PER_SLICE);
      const ids = JSON.stringify(slice.map(({ id }) => id));
      // Delete many at once: starting a statement costs about as much as deleting a line.
      for (const deletion of DELETIONS) this.#sql.run(deletion, ids);
      change.lines -= slice.length;
      for (const { content } of slice) change.terms -= tokenizer.terms(content).length;
      await setImmediate();
    }
  }
}
