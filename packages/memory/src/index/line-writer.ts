import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { MemoryIndexError } from '../errors.js';
import { withoutMark } from '../notes.js';
import { dateTermsOf, dayOfPath } from './dates.js';
import { patiently, Statements } from './index-database.js';
import { idsOfScope, MAX_SCOPES, scopeOfPath } from './line-filter.js';
import { indexTermsOf, piecesOf } from './terms.js';

/** Rows that are made or written before others get their turn: a few milliseconds' work. */
const ROWS_PER_SLICE = 25;
/** Pages that the full-text index merges at a time. */
const MERGED_PAGES = 200;
const INSERT_LINE = 'INSERT INTO lines (id, file_id, number, day, content) VALUES (?, ?, ?, ?, ?)';
const INSERT_TERMS = 'INSERT INTO line_terms (rowid, terms) VALUES (?, ?)';
const DELETIONS = ['lines WHERE id', 'line_terms WHERE rowid'].map(
  (rest) => `DELETE FROM ${rest} IN (SELECT value FROM json_each(?))`,
);

interface IndexedLine {
  readonly id: number;
  readonly number: number;
  readonly content: string;
}

/** What is stored of a file beside its lines. */
export interface FileRecord {
  /** What its content was, or how much of it is indexed. */
  readonly hash: string;
  /** Its size and the time of its last change; `null` when they cannot tell whether it changed. */
  readonly mark: string | null;
}

/** How much a change adds to the figures of a scope. */
interface Change {
  lines: number;
  terms: number;
}

/** Writes files into an index, each in one transaction. While much is written, others get their turn. */
export class LineWriter {
  readonly #database: Database;
  readonly #path: string;
  readonly #sql: Statements;
  #idle: Promise<unknown> = Promise.resolve();

  /** @param path of the index, for errors. */
  constructor(database: Database, path: string) {
    this.#database = database;
    this.#path = path;
    this.#sql = new Statements(database);
  }

  /** Resolves when no transaction is open. */
  get idle(): Promise<unknown> {
    return this.#idle;
  }

  /**
   * Runs a task in a transaction, behind those that were asked for before.
   *
   * @throws what the task throws, after undoing what it did; that the database is busy.
   */
  transaction<T>(task: () => Promise<T> | T): Promise<T> {
    const result = this.#idle.then(async () => {
      await patiently(() => this.#database.exec('BEGIN IMMEDIATE'));
      try {
        const value = await task();
        await patiently(() => this.#database.exec('COMMIT'));
        return value;
      } catch (error) {
        if (this.#database.open && this.#database.inTransaction) this.#database.exec('ROLLBACK');
        throw error;
      }
    });
    this.#idle = result.catch(() => {});
    return result;
  }

  /** Replaces a file's lines by those of `text`; empty, the file is forgotten. Lines that stay are not touched. */
  async replaceText(path: string, text: string, mark: string | null = null): Promise<void> {
    const hash = createHash('sha256').update(text).digest('base64');
    const known = this.fileOf(path);
    const isSame = text === '' ? known === undefined : known?.hash === hash && known.mark === mark;
    if (isSame) return;
    if (known?.hash === hash) {
      await this.transaction(() => this.#sql.run('UPDATE files SET mark = ? WHERE path = ?', mark, path));
    } else await this.transaction(() => this.#replace(path, { hash, mark }, text));
  }

  fileOf(path: string): FileRecord | undefined {
    return this.#sql.rows<FileRecord>('SELECT hash, mark FROM files WHERE path = ?', path)[0];
  }

  /** The files whose path begins with `prefix`. */
  pathsOf(prefix: string): string[] {
    return this.#sql.column('SELECT path FROM files WHERE substr(path, 1, length(?)) = ?', prefix, prefix);
  }

  /** All scopes that hold lines. */
  scopes(): readonly string[] {
    return this.#sql.column('SELECT prefix FROM scopes WHERE lines > 0');
  }

  /**
   * Clears the file of text that was deleted: the full-text index keeps deleted words until it is merged, and the log of
   * changes keeps everything until it is written back.
   */
  async purge(): Promise<void> {
    const sql = this.#sql;
    if (sql.column(`SELECT 1 FROM settings WHERE name = 'deleted'`).length === 0) return;
    const changes = () => sql.column<number>('SELECT total_changes()')[0] ?? 0;
    for (let pages = -MERGED_PAGES; ; pages = MERGED_PAGES) {
      const before = changes();
      await this.transaction(() =>
        sql.run(`INSERT INTO line_terms (line_terms, rank) VALUES ('merge', ?)`, pages),
      );
      // As SQLite's manual has it: a merge that found work changes more than the row that asks for it.
      if (changes() - before < 2) break;
      await setImmediate();
    }
    await this.transaction(() => sql.run(`DELETE FROM settings WHERE name = 'deleted'`));
    await this.transaction(() => {});
    this.#database.pragma('wal_checkpoint(TRUNCATE)');
  }

  async #replace(path: string, record: FileRecord, text: string): Promise<void> {
    const { fileId, scopeId } = this.#file(path, record);
    const change = { lines: 0, terms: 0 };
    const day = dayOfPath(path) ?? null;
    const stored = new LinesByContent(
      this.#sql.rows(
        'SELECT id, number, content FROM lines WHERE file_id = ? ORDER BY number, id DESC',
        fileId,
      ),
    );
    const added: Omit<IndexedLine, 'id'>[] = [];
    let compared = 0;
    for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
      const number = index + 1;
      // Where a note's line comes from is no part of what it says.
      for (const content of piecesOf(withoutMark(line))) {
        if (++compared % ROWS_PER_SLICE === 0) await setImmediate();
        const known = stored.take(content);
        if (known === undefined) added.push({ number, content });
        else if (known.number !== number)
          this.#sql.run('UPDATE lines SET number = ? WHERE id = ?', number, known.id);
      }
    }
    await this.#remove(stored.left(), change);
    await this.#add({ fileId, scopeId, day }, added, change);
    if (text === '') this.#sql.run('DELETE FROM files WHERE id = ?', fileId);
    this.#record(scopeId, change);
  }

  #file(path: string, { hash, mark }: FileRecord): { readonly fileId: number; readonly scopeId: number } {
    const scopeId = this.#scope(scopeOfPath(path));
    const [fileId = 0] = this.#sql.column<number>(
      `INSERT INTO files (scope_id, path, hash, mark) VALUES (?, ?, ?, ?)
       ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, mark = excluded.mark RETURNING id`,
      ...[scopeId, path, hash, mark],
    );
    return { fileId, scopeId };
  }

  #scope(prefix: string): number {
    const [id] = this.#sql.column<number>('SELECT id FROM scopes WHERE prefix = ?', prefix);
    if (id !== undefined) return id;
    const [added = 0] = this.#sql.column<number>(
      'INSERT INTO scopes (prefix) VALUES (?) RETURNING id',
      prefix,
    );
    if (added < MAX_SCOPES) return added;
    throw new MemoryIndexError(
      this.#path,
      `The memory index ${this.#path} is full: it holds ${MAX_SCOPES} users and agents. Give some an index of their own.`,
    );
  }

  async #add(
    {
      fileId,
      scopeId,
      day,
    }: { readonly fileId: number; readonly scopeId: number; readonly day: number | null },
    lines: readonly Omit<IndexedLine, 'id'>[],
    change: Change,
  ): Promise<void> {
    const { first, last } = idsOfScope(scopeId);
    const [newest] = this.#sql.column<number | null>(
      'SELECT max(id) FROM lines WHERE id BETWEEN ? AND ?',
      first,
      last,
    );
    let id = newest ?? first;
    for (const [index, { number, content }] of lines.entries()) {
      if (index % ROWS_PER_SLICE === 0) await setImmediate();
      const terms = indexTermsOf(content);
      change.lines++;
      change.terms += terms.length;
      this.#sql.run(INSERT_LINE, ++id, fileId, number, day, content);
      this.#sql.run(INSERT_TERMS, id, [...terms, ...dateTermsOf(day)].join(' '));
    }
  }

  async #remove(lines: readonly IndexedLine[], change: Change): Promise<void> {
    if (lines.length > 0) this.#sql.run(`INSERT OR IGNORE INTO settings VALUES ('deleted', '1')`);
    for (let from = 0; from < lines.length; from += ROWS_PER_SLICE) {
      const slice = lines.slice(from, from + ROWS_PER_SLICE);
      const ids = JSON.stringify(slice.map(({ id }) => id));
      // Many in one go: to begin a statement costs about as much as to delete a line.
      for (const deletion of DELETIONS) this.#sql.run(deletion, ids);
      change.lines -= slice.length;
      for (const { content } of slice) change.terms -= indexTermsOf(content).length;
      await setImmediate();
    }
  }

  #record(scopeId: number, { lines, terms }: Change): void {
    this.#sql.run(
      'UPDATE scopes SET lines = lines + ?, terms = terms + ? WHERE id = ?',
      lines,
      terms,
      scopeId,
    );
  }
}

/** Lines that are indexed already, to be found again by what they say. */
class LinesByContent {
  readonly #lines = new Map<string, IndexedLine[]>();

  constructor(lines: readonly IndexedLine[]) {
    for (const line of lines) {
      const same = this.#lines.get(line.content);
      if (same === undefined) this.#lines.set(line.content, [line]);
      else same.push(line);
    }
  }

  take(content: string): IndexedLine | undefined {
    return this.#lines.get(content)?.shift();
  }

  left(): IndexedLine[] {
    return [...this.#lines.values()].flat();
  }
}
