import { stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { errorText, fileSegment, parseWith, type Workspace } from '@x/core';
import type { Database } from 'better-sqlite3';
import * as z from 'zod';
import { MemoryIndexError } from './errors.js';
import { dateOf, dayOf } from './index/dates.js';
import { indexFiles, indexLogs } from './index/file-indexer.js';
import { deleteIndexFile, isDamage, openIndexDatabase } from './index/index-database.js';
import { type MemorySource, scopeOfPath } from './index/line-filter.js';
import { LineSearch, type RankedLine } from './index/line-search.js';
import { type EmbeddingConfig, embeddingSchema, interleave, LineVectors } from './index/line-vectors.js';
import { LineWriter } from './index/line-writer.js';
import { parseQuery } from './index/search-query.js';
import { memoryFiles, readIfFound } from './memory-files.js';
import { excerpt } from './message-text.js';

const dateSchema = z.iso.date().transform(dayOf);
const searchOptionsSchema = z.strictObject({
  limit: z.int().min(0).max(1_000).default(10),
  offset: z.int().min(0).max(10_000).default(0),
  prefix: z.string().optional(),
  userId: z.string().optional(),
  sources: z.array(z.enum(['memory', 'sessions', 'other'])).default(['memory', 'other']),
  path: z.string().optional(),
  since: dateSchema.optional(),
  until: dateSchema.optional(),
  snippetChars: z.int().min(0).default(0),
});
const openOptionsSchema = z.strictObject({
  readOnly: z.boolean().default(false),
  embedding: embeddingSchema.optional(),
});
type OpenSettings = z.output<typeof openOptionsSchema>;
/** Milliseconds that a search waits for files that changed to be indexed. */
const UPDATE_MS = 2_000;

/** A line that matches. */
export interface MemoryHit {
  /** The file's path, as it was indexed. */
  readonly path: string;
  /** From 1; of a session log, the message's number. */
  readonly lineNumber: number;
  readonly content: string;
  /** The smaller, the better, among lines found alike. Lines with all keywords come before those with some. */
  readonly rank: number;
  /** The day of a daily note or of a message, `2026-01-31`. */
  readonly date?: string;
  /** With `snippetChars`: so much of the content around the first match, on one line. */
  readonly snippet?: string;
}

/** What a search looks into, and what it answers. */
export interface MemorySearchOptions {
  /** Hits at most; default 10. */
  readonly limit?: number | undefined;
  /** Hits to skip; default 0. */
  readonly offset?: number | undefined;
  /** Only the files of a tenant, user and agent: their directory, `''` for the workspace's root. Default: all. */
  readonly prefix?: string | undefined;
  /** Only files of this user, whatever the tenant and agent. */
  readonly userId?: string | undefined;
  /** What to look into; default `['memory', 'other']`, all but the logs of sessions. */
  readonly sources?: readonly MemorySource[] | undefined;
  /** Only this file, or what lies in this folder if it ends with `/`. */
  readonly path?: string | undefined;
  /** Only lines of this day (`2026-01-31`) or later: of daily notes and of messages. */
  readonly since?: string | undefined;
  /** Only lines of this day or earlier. */
  readonly until?: string | undefined;
  /** Characters of a {@link MemoryHit.snippet}; 0, the default, for none. */
  readonly snippetChars?: number | undefined;
}

/** How an index is opened. */
export interface MemoryIndexOptions {
  /** Searches an index that another process maintains. Default false. */
  readonly readOnly?: boolean;
  /**
   * Searches by meaning as well as by words, with vectors of yours. The texts of all lines are given to `embed`, in the
   * background. Default: words alone.
   */
  readonly embedding?: EmbeddingConfig;
}

interface Opened {
  readonly reader: Database;
  /** What is written by; none when the index is `readOnly`. */
  readonly writing: Database | undefined;
  readonly writer: LineWriter | undefined;
  readonly lines: LineSearch;
  readonly vectors: LineVectors | undefined;
  /** Reads in a transaction. */
  readonly inOneState: <T>(task: () => T) => T;
  /** Tells a file from another one that took its place. */
  readonly inode: number | undefined;
}

/** What is needed to write. */
interface Writing {
  readonly database: Database;
  readonly writer: LineWriter;
}

/**
 * A full-text index over lines of text files and messages of session logs, in SQLite (FTS5). It can be deleted at any
 * time: everything in it comes from the files. Several processes may use one index; a search never waits for a writer.
 *
 * @example
 * const index = await MemoryIndex.open('./memory_index.db');
 * await index.indexAllFromWorkspace(workspace, { prefix: 'users/alice/' });
 * const [best] = await index.search('which port is staging on?');
 */
export class MemoryIndex {
  readonly #path: string;
  readonly #settings: OpenSettings;
  readonly #updates = new Map<string, Promise<string | undefined>>();
  #opened: Opened;

  /** Use {@link MemoryIndex.open}. */
  private constructor(path: string, settings: OpenSettings, opened: Opened) {
    this.#path = path;
    this.#settings = settings;
    this.#opened = opened;
  }

  /**
   * Opens the index at `path`, or creates it; `:memory:` for one that ends with the process.
   *
   * @throws {MemoryIndexError} when the file is no index, or SQLite cannot be used.
   */
  static async open(path: string, options: MemoryIndexOptions = {}): Promise<MemoryIndex> {
    const settings = parseWith(openOptionsSchema, options, 'MemoryIndex options');
    return new MemoryIndex(path, settings, await openParts(path, settings));
  }

  /** Whether another process maintains it: then it is searched as it is, and nothing can be indexed. */
  get readOnly(): boolean {
    return this.#settings.readOnly;
  }

  /** Replaces all that is indexed of a file. Costs what changed: lines that were there before are not touched. */
  async indexFromString(path: string, text: string): Promise<void> {
    await this.#write(({ writer }) => writer.replaceText(path, text));
  }

  /**
   * Indexes `MEMORY.md` and every Markdown file below `memory/`, and forgets those that are gone. Files of the same size
   * and time as before are not read.
   *
   * @param prefix where these files lie in the workspace; empty, or ends with `/`.
   */
  async indexAllFromWorkspace(
    workspace: Workspace,
    { prefix = '' }: { readonly prefix?: string } = {},
  ): Promise<void> {
    await this.#write(async ({ writer }) => {
      const known = writer.pathsOf(prefix, 'memory');
      await indexFiles(writer, known, memoryFiles(workspace, prefix), (path) => readIfFound(workspace, path));
    });
  }

  /**
   * Indexes the files of a folder outside of the memory, and forgets those that are gone. Files of the same size and time
   * as before are not read.
   *
   * @param folder ends with `/`.
   * @param textOf reads what is searched of a file.
   */
  async indexFolder(
    workspace: Workspace,
    folder: string,
    textOf: (path: string) => Promise<string>,
  ): Promise<void> {
    await this.#write(async ({ writer }) => {
      const known = writer
        .pathsOf(scopeOfPath(folder).prefix, 'other')
        .filter((path) => path.startsWith(folder));
      const entries = workspace.list(folder.slice(0, -1), { recursive: true });
      await indexFiles(writer, known, entries, textOf);
    });
  }

  /**
   * Indexes the session logs of a tenant, user and agent, and forgets those that are gone. Costs what was added.
   *
   * @param prefix where `sessions/` lies in the workspace; empty, or ends with `/`.
   */
  async indexSessionLogs(
    workspace: Workspace,
    { prefix = '' }: { readonly prefix?: string } = {},
  ): Promise<void> {
    await this.#write((writing) => indexLogs(workspace, prefix, writing));
  }

  /**
   * Brings memory files or logs up to date before a search, as far as that is possible now: what takes longer goes on in
   * the background, and what fails is left. Never throws.
   *
   * @returns Why the index may not be up to date; `undefined` when it is.
   */
  async update(
    workspace: Workspace,
    { prefix = '', logs = false }: { readonly prefix?: string; readonly logs?: boolean } = {},
  ): Promise<string | undefined> {
    if (this.readOnly) return undefined;
    const key = `${prefix} ${logs}`;
    const before = this.#updates.get(key) ?? Promise.resolve();
    const options = { prefix };
    const update = before
      .then(() =>
        logs ? this.indexSessionLogs(workspace, options) : this.indexAllFromWorkspace(workspace, options),
      )
      .then(
        () => undefined,
        (error: unknown) => errorText(error),
      )
      .finally(() => {
        if (this.#updates.get(key) === update) this.#updates.delete(key);
      });
    this.#updates.set(key, update);
    const waiting = new AbortController();
    const late = setTimeout(UPDATE_MS, 'it is still being built', { ref: false, signal: waiting.signal });
    try {
      return await Promise.race([update, late.catch(() => undefined)]);
    } finally {
      waiting.abort();
    }
  }

  /**
   * Looks after the index as a whole: brings everything that it holds of a workspace up to date, forgets what is gone, and
   * clears the file of deleted text.
   *
   * @param prefixes places that may have memory beside those that are indexed already.
   */
  async maintain(workspace: Workspace, prefixes: readonly string[] = []): Promise<void> {
    const scopes = this.#writing().writer.scopes();
    const known = scopes.filter(({ source }) => source === 'memory').map(({ prefix }) => prefix);
    for (const prefix of new Set([...prefixes, ...known]))
      await this.indexAllFromWorkspace(workspace, { prefix });
    for (const { prefix, source } of scopes) {
      if (source === 'sessions') await this.indexSessionLogs(workspace, { prefix });
    }
    await this.purge();
  }

  /**
   * Forgets every file whose path begins with `prefix`, and clears the index's file of what they said.
   *
   * @returns How many files were forgotten.
   */
  async forget(prefix: string): Promise<number> {
    let count = 0;
    await this.#write(async ({ database, writer }) => {
      const paths = database
        .prepare<[string, string], string>('SELECT path FROM files WHERE substr(path, 1, length(?)) = ?')
        .pluck()
        .all(prefix, prefix);
      for (const path of paths) await writer.replaceText(path, '');
      await writer.purge();
      count = paths.length;
    });
    return count;
  }

  /** Clears the index's file of deleted text. */
  async purge(): Promise<void> {
    await this.#write(({ writer }) => writer.purge());
  }

  /** Resolves when all lines have vectors, or their embedding failed; at once for an index without `embedding`. */
  async embedded(): Promise<void> {
    const { vectors, writer } = this.#live();
    if (writer !== undefined) await vectors?.embedMissing(writer);
  }

  /**
   * The best lines. Any text is a query. `"…"` asks for words in that order and `*` behind a word for what begins with
   * it; nothing else is an operator. A sentence finds lines that have some of its words, a date what was said that day.
   * Of a line longer than 2 000 characters, the part that matches best is answered.
   *
   * @throws {InvalidInputError} for unknown or bad options.
   * @throws {MemoryIndexError} when the index is closed, or turned out to be damaged: unless it is `readOnly`, it has been made
   * anew, index the files again.
   */
  async search(query: string, options: MemorySearchOptions = {}): Promise<readonly MemoryHit[]> {
    const settings = parseWith(searchOptionsSchema, options, 'search options');
    const { limit, offset, userId, snippetChars, ...filter } = settings;
    const parsed = parseQuery(query);
    const userSegment = userId === undefined ? undefined : fileSegment(userId);
    const { lines, reader, writer, vectors, inOneState } = this.#live();
    try {
      const vector = limit === 0 ? undefined : await vectors?.embedQuery(query);
      // One connection for both, in memory: nothing half written may be read.
      if (reader === this.#opened.writing) await writer?.idle;
      const find = (): readonly RankedLine[] => {
        const [from, to] = [offset, offset + limit];
        const allowed = { ...filter, userSegment };
        if (vector === undefined || vectors === undefined) return lines.search(parsed, allowed, from, to);
        const both = [
          lines.search(parsed, allowed, 0, 2 * to),
          vectors.search(vector, allowed, 2 * to),
        ] as const;
        return interleave(...both, this.#settings.embedding?.share ?? 0).slice(from, to);
      };
      return inOneState(find).map(({ path, number, content, score, day }) => ({
        path,
        lineNumber: number,
        content,
        rank: -score,
        ...(day === null ? {} : { date: dateOf(day) }),
        ...(snippetChars > 0 ? { snippet: excerpt(content, parsed.terms, snippetChars) } : {}),
      }));
    } catch (error) {
      if (!isDamage(error)) throw error;
      if (this.#settings.readOnly) {
        const message = `The memory index ${this.#path} is damaged. Whoever maintains it makes it anew: open it again then.`;
        throw new MemoryIndexError(this.#path, message, error);
      }
      await this.#remake();
      throw new MemoryIndexError(
        this.#path,
        `The memory index ${this.#path} was damaged and has been made anew, empty: index the files again.`,
        error,
      );
    }
  }

  /** Closes the file. Closing twice does nothing. */
  close(): void {
    closeParts(this.#opened);
  }

  /** @throws {MemoryIndexError} when it is closed. */
  #live(): Opened {
    if (this.#opened.reader.open) return this.#opened;
    throw new MemoryIndexError(this.#path, `The memory index ${this.#path} is closed: open it again.`);
  }

  #writing(): Writing {
    const { writing, writer } = this.#live();
    if (writing !== undefined && writer !== undefined) return { database: writing, writer };
    const message = `The memory index ${this.#path} was opened with readOnly: index files with one that was not.`;
    throw new MemoryIndexError(this.#path, message);
  }

  /** Writes, and once more into a new index if this one turns out to be damaged. */
  async #write(task: (writing: Writing) => Promise<void>): Promise<void> {
    try {
      await task(this.#writing());
    } catch (error) {
      if (!isDamage(error)) throw error;
      await this.#remake();
      await task(this.#writing());
    }
    const { vectors, writer } = this.#opened;
    if (writer !== undefined) void vectors?.embedMissing(writer);
  }

  /** Puts a new index in the place of a damaged one, unless another process has done so. */
  async #remake(): Promise<void> {
    closeParts(this.#opened);
    if ((await inodeOf(this.#path)) === this.#opened.inode) await deleteIndexFile(this.#path);
    this.#opened = await openParts(this.#path, this.#settings);
  }
}

async function openParts(path: string, { readOnly, embedding }: OpenSettings): Promise<Opened> {
  const writing = readOnly ? undefined : await openIndexDatabase(path);
  // A connection of its own sees nothing of a change that is not complete.
  const reader =
    writing !== undefined && path === ':memory:'
      ? writing
      : await openIndexDatabase(path, { readOnly: true });
  const vectors =
    embedding === undefined ? undefined : new LineVectors(reader, writing ?? reader, path, embedding);
  const writer = writing === undefined ? undefined : new LineWriter(writing, path);
  const inTransaction = reader.transaction((task: () => unknown) => task());
  const inOneState = <T>(task: () => T) => inTransaction(task) as T;
  const lines = new LineSearch(reader);
  return { reader, writing, inode: await inodeOf(path), writer, vectors, lines, inOneState };
}

function closeParts({ reader, writing, vectors }: Opened): void {
  vectors?.close();
  reader.close();
  writing?.close();
}

async function inodeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  );
}
