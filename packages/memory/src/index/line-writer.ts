import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Database, Statement } from 'better-sqlite3';
import { MemoryIndexError } from '../errors.js';
import { withoutMark } from '../notes.js';
import { dateTermsOf, dayOfPath } from './dates.js';
import { patiently } from './index-database.js';
import { idsOfScope, MAX_SCOPES, scopeOfPath } from './line-filter.js';
import { indexTermsOf, piecesOf } from './terms.js';

/** Rows that are made or written before others get their turn: a few milliseconds' work. */
const ROWS_PER_SLICE = 25;
/** Pages that the full-text index merges at a time. */
const MERGED_PAGES = 200;

interface IndexedLine {
  readonly id: number;
  readonly number: number;
  readonly content: string;
}

/** A line that is not indexed yet. */
export interface NewLine {
  /** From 1. */
  readonly number: number;
  readonly content: string;
  /** Days since 1970. */
  readonly day: number | null;
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
  readonly #fileOf: Statement<[string], FileRecord>;
  readonly #lastId: Statement<[number, number], number | null>;
  readonly #insertLine: Statement<[number, number, number, number | null, string]>;
  readonly #insertTerms: Statement<[number, string]>;
  readonly #moveLine: Statement<[number, number]>;
  readonly #deletions: readonly Statement<[string]>[];
  readonly #noteDeletion: Statement<[]>;
  #idle: Promise<unknown> = Promise.resolve();

  /** @param path of the index, for errors. */
  constructor(database: Database, path: string) {
    this.#database = database;
    this.#path = path;
    this.#fileOf = database.prepare('SELECT hash, mark FROM files WHERE path = ?');
    this.#lastId = database
      .prepare<[number, number], number | null>('SELECT max(id) FROM lines WHERE id BETWEEN ? AND ?')
      .pluck();
    this.#insertLine = database.prepare(
      'INSERT INTO lines (id, file_id, number, day, content) VALUES (?, ?, ?, ?, ?)',
    );
    this.#insertTerms = database.prepare('INSERT INTO line_terms (rowid, terms) VALUES (?, ?)');
    this.#moveLine = database.prepare('UPDATE lines SET number = ? WHERE id = ?');
    this.#noteDeletion = database.prepare(`INSERT OR IGNORE INTO settings VALUES ('deleted', '1')`);
    // All in one go: to begin a statement costs about as much as to delete a line.
    this.#deletions = ['lines WHERE id', 'line_terms WHERE rowid'].map((rest) =>
      database.prepare<[string]>(`DELETE FROM ${rest} IN (SELECT value FROM json_each(?))`),
    );
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
      const update = this.#database.prepare('UPDATE files SET mark = ? WHERE path = ?');
      await this.transaction(() => update.run(mark, path));
    } else await this.transaction(() => this.#replace(path, { hash, mark }, text));
  }

  fileOf(path: string): FileRecord | undefined {
    return this.#fileOf.get(path);
  }

  /** The files whose path begins with `prefix`. */
  pathsOf(prefix: string): string[] {
    return this.#database
      .prepare<[string, string], string>('SELECT path FROM files WHERE substr(path, 1, length(?)) = ?')
      .pluck()
      .all(prefix, prefix);
  }

  /** All scopes that hold lines. */
  scopes(): readonly string[] {
    return this.#database.prepare<[], string>('SELECT prefix FROM scopes WHERE lines > 0').pluck().all();
  }

  /**
   * Clears the file of text that was deleted: the full-text index keeps deleted words until it is merged, and the log of
   * changes keeps everything until it is written back.
   */
  async purge(): Promise<void> {
    const database = this.#database;
    const deleted = database.prepare(`SELECT 1 FROM settings WHERE name = 'deleted'`).get();
    if (deleted === undefined) return;
    const merge = database.prepare(`INSERT INTO line_terms (line_terms, rank) VALUES ('merge', ?)`);
    const changes = database.prepare<[], number>('SELECT total_changes()').pluck();
    for (let pages = -MERGED_PAGES; ; pages = MERGED_PAGES) {
      const before = changes.get() ?? 0;
      await this.transaction(() => merge.run(pages));
      // As SQLite's manual has it: a merge that found work changes more than the row that asks for it.
      if ((changes.get() ?? 0) - before < 2) break;
      await setImmediate();
    }
    await this.transaction(() => database.prepare(`DELETE FROM settings WHERE name = 'deleted'`).run());
    await this.transaction(() => {});
    database.pragma('wal_checkpoint(TRUNCATE)');
  }

  async #replace(path: string, record: FileRecord, text: string): Promise<void> {
    const { fileId, scopeId } = this.#file(path, record);
    const change = { lines: 0, terms: 0 };
    const day = dayOfPath(path) ?? null;
    const stored = new LinesByContent(
      this.#database
        .prepare<[number], IndexedLine>(
          'SELECT id, number, content FROM lines WHERE file_id = ? ORDER BY number, id DESC',
        )
        .all(fileId),
    );
    const added: NewLine[] = [];
    let compared = 0;
    for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
      const number = index + 1;
      // Where a note's line comes from is no part of what it says.
      for (const content of piecesOf(withoutMark(line))) {
        if (++compared % ROWS_PER_SLICE === 0) await setImmediate();
        const known = stored.take(content);
        if (known === undefined) added.push({ number, content, day });
        else if (known.number !== number) this.#moveLine.run(number, known.id);
      }
    }
    await this.#remove(stored.left(), change);
    await this.#add(fileId, scopeId, added, change);
    if (text === '') {
      this.#database.prepare('DELETE FROM files WHERE id = ?').run(fileId);
    }
    this.#record(scopeId, change);
  }

  #file(path: string, { hash, mark }: FileRecord): { readonly fileId: number; readonly scopeId: number } {
    const scopeId = this.#scope(scopeOfPath(path));
    const fileId = this.#database
      .prepare<[number, string, string, string | null], number>(
        `INSERT INTO files (scope_id, path, hash, mark) VALUES (?, ?, ?, ?)
         ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, mark = excluded.mark RETURNING id`,
      )
      .pluck()
      .get(scopeId, path, hash, mark);
    return { fileId: fileId ?? 0, scopeId };
  }

  #scope(prefix: string): number {
    const id = this.#database
      .prepare<[string], number>('SELECT id FROM scopes WHERE prefix = ?')
      .pluck()
      .get(prefix);
    if (id !== undefined) return id;
    const added = this.#database.prepare('INSERT INTO scopes (prefix) VALUES (?)').run(prefix);
    const scopeId = Number(added.lastInsertRowid);
    if (scopeId < MAX_SCOPES) return scopeId;
    throw new MemoryIndexError(
      this.#path,
      `The memory index ${this.#path} is full: it holds ${MAX_SCOPES} users and agents. Give some an index of their own.`,
    );
  }

  async #add(fileId: number, scopeId: number, lines: readonly NewLine[], change: Change): Promise<void> {
    const { first, last } = idsOfScope(scopeId);
    let id = this.#lastId.get(first, last) ?? first;
    for (const [index, { number, day, content }] of lines.entries()) {
      if (index % ROWS_PER_SLICE === 0) await setImmediate();
      const terms = indexTermsOf(content);
      change.lines++;
      change.terms += terms.length;
      this.#insertLine.run(++id, fileId, number, day, content);
      this.#insertTerms.run(id, [...terms, ...dateTermsOf(day)].join(' '));
    }
  }

  async #remove(lines: readonly IndexedLine[], change: Change): Promise<void> {
    if (lines.length > 0) this.#noteDeletion.run();
    for (let from = 0; from < lines.length; from += ROWS_PER_SLICE) {
      const slice = lines.slice(from, from + ROWS_PER_SLICE);
      const ids = JSON.stringify(slice.map(({ id }) => id));
      for (const statement of this.#deletions) statement.run(ids);
      change.lines -= slice.length;
      for (const { content } of slice) change.terms -= indexTermsOf(content).length;
      await setImmediate();
    }
  }

  #record(scopeId: number, { lines, terms }: Change): void {
    this.#database
      .prepare('UPDATE scopes SET lines = lines + ?, terms = terms + ? WHERE id = ?')
      .run(lines, terms, scopeId);
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
