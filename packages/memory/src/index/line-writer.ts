import { createHash } from 'node:crypto';
import type { Database, Statement } from 'better-sqlite3';
import { MemoryIndexError } from '../memory-index-error.js';
import { dayOfPath } from './day.js';
import { exactLengthOf, idsOfLength, MAX_SCOPES } from './line-id.js';
import { lineTermsOf } from './line-terms.js';
import { type IndexScope, scopeOfPath } from './scope-of-path.js';

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

/** How much a change adds to the figures of a scope. */
interface Change {
  lines: number;
  terms: number;
}

/** Writes files into an index, each in one transaction. */
export class LineWriter {
  readonly #database: Database;
  readonly #path: string;
  readonly #replaceText: (path: string, hash: string, text: string) => void;
  readonly #lastId: Statement<[number, number], number | null>;
  readonly #insertLine: Statement<[number, number, number, number | null, string]>;
  readonly #insertTerms: Statement<[number, string]>;
  readonly #moveLine: Statement<[number, number]>;
  readonly #deletions: readonly Statement<[string]>[];

  /** @param path of the index, for errors. */
  constructor(database: Database, path: string) {
    this.#database = database;
    this.#path = path;
    const replace = database.transaction((file: string, hash: string, text: string) =>
      this.#replace(file, hash, text),
    );
    this.#replaceText = (file, hash, text) => replace.immediate(file, hash, text);
    this.#lastId = database
      .prepare<[number, number], number | null>('SELECT max(id) FROM lines WHERE id BETWEEN ? AND ?')
      .pluck();
    this.#insertLine = database.prepare(
      'INSERT INTO lines (id, file_id, number, day, content) VALUES (?, ?, ?, ?, ?)',
    );
    this.#insertTerms = database.prepare('INSERT INTO line_terms (rowid, terms) VALUES (?, ?)');
    this.#moveLine = database.prepare('UPDATE lines SET number = ? WHERE id = ?');
    // All in one go: to begin a statement costs about as much as to delete a line.
    this.#deletions = ['lines WHERE id', 'line_terms WHERE rowid'].map((rest) =>
      database.prepare<[string]>(`DELETE FROM ${rest} IN (SELECT value FROM json_each(?))`),
    );
  }

  /** Replaces a file's lines by those of `text`; empty, the file is forgotten. Lines that stay are not touched. */
  replaceText(path: string, text: string): void {
    const hash = createHash('sha256').update(text).digest('base64');
    const known = this.hashOf(path);
    const isSame = text === '' ? known === undefined : known === hash;
    if (!isSame) this.#replaceText(path, hash, text);
  }

  hashOf(path: string): string | undefined {
    return this.#database
      .prepare<[string], string>('SELECT hash FROM files WHERE path = ?')
      .pluck()
      .get(path);
  }

  /** Adds lines to a file within the caller's transaction. */
  append(path: string, hash: string, lines: readonly NewLine[]): number {
    const { fileId, scopeId } = this.#file(path, hash);
    const change = { lines: 0, terms: 0 };
    this.#add(fileId, scopeId, lines, change);
    this.#record(scopeId, change);
    return fileId;
  }

  #replace(path: string, hash: string, text: string): void {
    const { fileId, scopeId } = this.#file(path, hash);
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
    for (const [index, content] of text.split(/\r\n|\n|\r/).entries()) {
      if (content.trim() === '') continue;
      const number = index + 1;
      const line = stored.take(content);
      if (line === undefined) added.push({ number, content, day });
      else if (line.number !== number) this.#moveLine.run(number, line.id);
    }
    this.#remove(stored.left(), change);
    this.#add(fileId, scopeId, added, change);
    if (text === '') {
      this.#database.prepare('DELETE FROM log_messages WHERE file_id = ?').run(fileId);
      this.#database.prepare('DELETE FROM files WHERE id = ?').run(fileId);
    }
    this.#record(scopeId, change);
  }

  #file(path: string, hash: string): { readonly fileId: number; readonly scopeId: number } {
    const scopeId = this.#scope(scopeOfPath(path));
    const fileId = this.#database
      .prepare<[number, string, string], number>(
        `INSERT INTO files (scope_id, path, hash) VALUES (?, ?, ?)
         ON CONFLICT (path) DO UPDATE SET hash = excluded.hash RETURNING id`,
      )
      .pluck()
      .get(scopeId, path, hash);
    return { fileId: fileId ?? 0, scopeId };
  }

  #scope({ prefix, source }: IndexScope): number {
    const id = this.#database
      .prepare<[string, string], number>('SELECT id FROM scopes WHERE prefix = ? AND source = ?')
      .pluck()
      .get(prefix, source);
    if (id !== undefined) return id;
    const added = this.#database
      .prepare('INSERT INTO scopes (prefix, source) VALUES (?, ?)')
      .run(prefix, source);
    const scopeId = Number(added.lastInsertRowid);
    if (scopeId < MAX_SCOPES) return scopeId;
    throw new MemoryIndexError(
      this.#path,
      `The memory index ${this.#path} is full: it holds ${MAX_SCOPES} users and agents. Give some an index of their own.`,
    );
  }

  #add(fileId: number, scopeId: number, lines: readonly NewLine[], change: Change): void {
    const lastIds = new Map<number, number>();
    const rows = lines.map(({ number, content, day }) => {
      const { entries, length } = lineTermsOf(content);
      const { first, last } = idsOfLength(scopeId, length);
      const id = (lastIds.get(first) ?? this.#lastId.get(first, last) ?? first) + 1;
      lastIds.set(first, id);
      change.lines++;
      change.terms += length;
      return { id, number, content, day, terms: entries.join(' ') };
    });
    // In order of their ids: SQLite collects what comes in order, and writes at once what does not.
    for (const { id, number, content, day, terms } of rows.sort((left, right) => left.id - right.id)) {
      this.#insertLine.run(id, fileId, number, day, content);
      this.#insertTerms.run(id, terms);
    }
  }

  #remove(lines: readonly IndexedLine[], change: Change): void {
    if (lines.length === 0) return;
    const ids = JSON.stringify(lines.map(({ id }) => id));
    for (const statement of this.#deletions) statement.run(ids);
    change.lines -= lines.length;
    for (const { id, content } of lines) change.terms -= exactLengthOf(id) ?? lineTermsOf(content).length;
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
