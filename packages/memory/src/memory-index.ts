import { stat } from 'node:fs/promises';
import { fileSegment, parseWith, type Workspace } from '@x/core';
import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { dateOf, dayOf } from './index/day.js';
import { type EmbeddingConfig, embeddingSchema } from './index/embedding-config.js';
import { fuseRanks } from './index/fuse-ranks.js';
import { deleteIndexFile, isDamage, openIndexDatabase } from './index/index-database.js';
import type { LineFilter } from './index/line-filter.js';
import { LineSearch } from './index/line-search.js';
import { LineVectors } from './index/line-vectors.js';
import { LineWriter } from './index/line-writer.js';
import { indexLog } from './index/log-indexer.js';
import type { RankedLine } from './index/rank-lines.js';
import type { MemorySource } from './index/scope-of-path.js';
import { parseQuery, type SearchQuery } from './index/search-query.js';
import { LOG_SUFFIX } from './log-scope.js';
import { memoryFiles } from './memory-files.js';
import { MemoryIndexError } from './memory-index-error.js';
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
/** Lines of each ranking that are fused, beside those wanted. */
const FUSED = 50;

/** A line that matches. */
export interface MemoryHit {
  /** The file's path, as it was indexed. */
  readonly path: string;
  /** From 1; of a session log, the message's number. */
  readonly lineNumber: number;
  readonly content: string;
  /** The smaller, the better. Lines with all keywords come before those with some. */
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
   * Searches by meaning as well as by words, with vectors of yours; needs the package `sqlite-vec`. The texts of lines
   * that a search looks at are given to `embed`, once each. Default: words alone.
   */
  readonly embedding?: EmbeddingConfig;
}

interface Opened {
  readonly database: Database;
  readonly writer: LineWriter;
  readonly lines: LineSearch;
  readonly vectors: LineVectors | undefined;
  /** Tells a file from another one that took its place. */
  readonly inode: number | undefined;
}

/**
 * A full-text index over lines of text files and messages of session logs, in SQLite (FTS5). It can be deleted at any
 * time: everything in it comes from the files. Several processes may use one index; readers never wait.
 */
export class MemoryIndex {
  readonly #path: string;
  readonly #settings: OpenSettings;
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
    await this.#write(async ({ writer }) => writer.replaceText(path, text));
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
    await this.#write(async ({ database, writer }) => {
      const gone = new Set(pathsOf(database, prefix, 'memory'));
      for await (const { path, text } of memoryFiles(workspace, prefix)) {
        gone.delete(path);
        writer.replaceText(path, text);
      }
      for (const path of gone) writer.replaceText(path, '');
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
    await this.#write(async (parts) => {
      const gone = new Set(pathsOf(parts.database, prefix, 'sessions'));
      for await (const { path, type } of workspace.list(`${prefix}sessions`)) {
        if (type !== 'file' || !path.endsWith(LOG_SUFFIX)) continue;
        gone.delete(path);
        await indexLog(workspace, path, parts);
      }
      for (const path of gone) parts.writer.replaceText(path, '');
    });
  }

  /**
   * The best lines. Any text is a query. `"…"` asks for words in that order and `*` behind a word for what begins with
   * it; nothing else is an operator. A sentence finds lines that have some of its words.
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
    try {
      const found = await this.#find(query, parsed, { ...filter, userSegment }, offset + limit);
      return found.slice(offset).map(({ path, number, content, score, day }) => ({
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

  async #find(
    text: string,
    query: SearchQuery,
    filter: LineFilter,
    wanted: number,
  ): Promise<readonly RankedLine[]> {
    const { lines, vectors } = this.#live();
    if (vectors === undefined || wanted === 0) return lines.search(query, filter, wanted);
    const some = wanted + FUSED;
    return fuseRanks([lines.search(query, filter, some), await vectors.search(text, filter, some)], wanted);
  }

  /** Closes the file. Closing twice does nothing. */
  close(): void {
    this.#opened.database.close();
  }

  /** @throws {MemoryIndexError} when it is closed. */
  #live(): Opened {
    if (this.#opened.database.open) return this.#opened;
    throw new MemoryIndexError(this.#path, `The memory index ${this.#path} is closed: open it again.`);
  }

  /** Writes, and once more into a new index if this one turns out to be damaged. */
  async #write(task: (opened: Opened) => Promise<void>): Promise<void> {
    if (this.#settings.readOnly) {
      const message = `The memory index ${this.#path} was opened with readOnly: index files with one that was not.`;
      throw new MemoryIndexError(this.#path, message);
    }
    try {
      await task(this.#live());
    } catch (error) {
      if (!isDamage(error)) throw error;
      await this.#remake();
      await task(this.#opened);
    }
  }

  /** Puts a new index in the place of a damaged one, unless another process has done so. */
  async #remake(): Promise<void> {
    this.#opened.database.close();
    if ((await inodeOf(this.#path)) === this.#opened.inode) await deleteIndexFile(this.#path);
    this.#opened = await openParts(this.#path, this.#settings);
  }
}

async function openParts(path: string, { readOnly, embedding }: OpenSettings): Promise<Opened> {
  const database = await openIndexDatabase(path, { readOnly });
  const vectors = embedding === undefined ? undefined : await LineVectors.open(database, path, embedding);
  const writer = new LineWriter(database, path);
  return { database, inode: await inodeOf(path), writer, vectors, lines: new LineSearch(database) };
}

async function inodeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  );
}

function pathsOf(database: Database, prefix: string, source: MemorySource): string[] {
  return database
    .prepare<[string, string], string>(
      `SELECT path FROM files JOIN scopes ON scopes.id = files.scope_id WHERE prefix = ? AND source = ?`,
    )
    .pluck()
    .all(prefix, source);
}
