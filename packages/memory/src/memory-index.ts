import { createHash } from 'node:crypto';
import { parseWith, type Workspace } from '@x/core';
import type { Database, Statement } from 'better-sqlite3';
import { z } from 'zod';
import { openIndexDatabase } from './index-database.js';
import { memoryFiles } from './memory-files.js';
import { queryTermsOf, termsOf } from './terms.js';

const searchOptionsSchema = z.strictObject({
  limit: z.int().min(0).max(1_000).default(10),
  prefix: z.string().optional(),
});

/** A line that matches. */
export interface MemoryHit {
  /** The file's path, as it was indexed. */
  readonly path: string;
  /** From 1. */
  readonly lineNumber: number;
  readonly content: string;
  /** BM25 as SQLite reports it: the smaller, the better. Lines with all terms come before those with some. */
  readonly rank: number;
}

export interface MemorySearchOptions {
  /** Hits at most; default 10. */
  readonly limit?: number | undefined;
  /** Only memory files below this prefix: `''` for those of the workspace's root. Default: all that is indexed. */
  readonly prefix?: string | undefined;
}

interface IndexedLine {
  readonly id: number;
  readonly number: number;
  readonly content: string;
}

/**
 * A full-text index over lines of text files, in SQLite (FTS5). It can be deleted at any time: everything in it comes
 * from the files. Several processes may use one index.
 */
export class MemoryIndex {
  readonly #database: Database;
  readonly #find: Statement<
    [{ match: string; core: string | null; folder: string | null; limit: number }],
    MemoryHit
  >;
  readonly #replaceFile: (path: string, hash: string, text: string) => void;

  /** Use {@link MemoryIndex.open}. */
  private constructor(database: Database) {
    this.#database = database;
    this.#find = database.prepare(`
      SELECT files.path, lines.number AS lineNumber, lines.content, line_terms.rank
      FROM line_terms JOIN lines ON lines.id = line_terms.rowid JOIN files ON files.id = lines.file_id
      WHERE line_terms MATCH :match
        AND (:core IS NULL OR files.path = :core OR substr(files.path, 1, length(:folder)) = :folder)
      ORDER BY line_terms.rank, lines.id DESC LIMIT :limit`);
    const replace = database.transaction((path: string, hash: string, text: string) =>
      this.#replace(path, hash, text),
    );
    this.#replaceFile = (path, hash, text) => replace.immediate(path, hash, text);
  }

  /**
   * Opens the index at `path`, or creates it; `:memory:` for one that ends with the process.
   *
   * @throws {MemoryIndexError} when the file is no index, or SQLite cannot be used.
   */
  static async open(path: string): Promise<MemoryIndex> {
    return new MemoryIndex(await openIndexDatabase(path));
  }

  /** Replaces all that is indexed of a file. Costs what changed: lines that were there before are not touched. */
  async indexFromString(path: string, text: string): Promise<void> {
    const hash = createHash('sha256').update(text).digest('base64');
    const known = this.#hashOf(path);
    const isSame = text === '' ? known === undefined : known === hash;
    if (!isSame) this.#replaceFile(path, hash, text);
  }

  /**
   * Indexes `MEMORY.md` and every Markdown file below `memory/`, and forgets those that are gone. Files whose content is
   * the same as before cost their reading.
   *
   * @param prefix where these files lie in the workspace; empty, or ends with `/`.
   */
  async indexAllFromWorkspace(
    workspace: Workspace,
    { prefix = '' }: { readonly prefix?: string } = {},
  ): Promise<void> {
    const gone = new Set(this.#pathsBelow(prefix));
    for await (const { path, text } of memoryFiles(workspace, prefix)) {
      gone.delete(path);
      await this.indexFromString(path, text);
    }
    for (const path of gone) await this.indexFromString(path, '');
  }

  /**
   * The best lines. Any text is a query: it is cut into words like the lines themselves, and has no operators.
   *
   * @throws {InvalidInputError} for unknown or bad options.
   */
  async search(query: string, options: MemorySearchOptions = {}): Promise<readonly MemoryHit[]> {
    const { limit, prefix } = parseWith(searchOptionsSchema, options, 'search options');
    const terms = queryTermsOf(query).map(({ text, prefix: isPrefix }) => `"${text}"${isPrefix ? '*' : ''}`);
    if (terms.length === 0) return [];
    const find = (match: string) =>
      this.#find.all({
        match,
        core: prefix === undefined ? null : `${prefix}MEMORY.md`,
        folder: prefix === undefined ? null : `${prefix}memory/`,
        limit,
      });
    const best = find(terms.join(' AND '));
    if (best.length === limit || terms.length === 1) return best;
    const seen = new Set(best.map(place));
    return [...best, ...find(terms.join(' OR ')).filter((hit) => !seen.has(place(hit)))].slice(0, limit);
  }

  close(): void {
    this.#database.close();
  }

  #hashOf(path: string): string | undefined {
    return this.#database
      .prepare<[string], string>('SELECT hash FROM files WHERE path = ?')
      .pluck()
      .get(path);
  }

  #pathsBelow(prefix: string): string[] {
    return this.#database
      .prepare<[{ core: string; folder: string }], string>(
        `SELECT path FROM files WHERE path = :core OR substr(path, 1, length(:folder)) = :folder`,
      )
      .pluck()
      .all({ core: `${prefix}MEMORY.md`, folder: `${prefix}memory/` });
  }

  #replace(path: string, hash: string, text: string): void {
    const database = this.#database;
    const fileId = database
      .prepare<[string, string], number>(
        `INSERT INTO files (path, hash) VALUES (?, ?)
         ON CONFLICT (path) DO UPDATE SET hash = excluded.hash RETURNING id`,
      )
      .pluck()
      .get(path, hash);
    if (fileId === undefined) return;

    const insertLine = database.prepare('INSERT INTO lines (file_id, number, content) VALUES (?, ?, ?)');
    const insertTerms = database.prepare('INSERT INTO line_terms (rowid, terms) VALUES (?, ?)');
    const move = database.prepare('UPDATE lines SET number = ? WHERE id = ?');
    const stored = new LinesByContent(
      database
        .prepare<[number], IndexedLine>(
          'SELECT id, number, content FROM lines WHERE file_id = ? ORDER BY number',
        )
        .all(fileId),
    );
    for (const [index, content] of text.split(/\r\n|\n|\r/).entries()) {
      if (content.trim() === '') continue;
      const number = index + 1;
      const line = stored.take(content);
      if (line === undefined) {
        const { lastInsertRowid } = insertLine.run(fileId, number, content);
        insertTerms.run(lastInsertRowid, termsOf(content).join(' '));
      } else if (line.number !== number) {
        move.run(number, line.id);
      }
    }
    const remove = ['lines WHERE id = ?', 'line_terms WHERE rowid = ?'].map((rest) =>
      database.prepare(`DELETE FROM ${rest}`),
    );
    for (const { id } of stored.left()) for (const statement of remove) statement.run(id);
    if (text === '') database.prepare('DELETE FROM files WHERE id = ?').run(fileId);
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

function place({ path, lineNumber }: MemoryHit): string {
  return `${lineNumber} ${path}`;
}
