import { stat } from 'node:fs/promises';
import { errorText, parseWith, unlessAborted, type Workspace } from '@x/core';
import * as z from 'zod';
import { MemoryIndexError } from './errors.js';
import { Rounds } from './exclusively.js';
import { dateOf, dayOf } from './index/dates.js';
import {
  Connection,
  deleteIndexFile,
  isDamage,
  isUnwritable,
  openIndexDatabase,
} from './index/index-database.js';
import { LineSearch } from './index/line-search.js';
import { LineWriter } from './index/line-writer.js';
import { scopeOfPath } from './index/scopes.js';
import { parseQuery } from './index/search-query.js';
import { isMemoryPath, markOf, memoryFiles, readIfFound } from './memory-files.js';
import { excerpt } from './message-text.js';

const dateSchema = z.iso.date().transform(dayOf).optional();
const searchOptionsSchema = z.strictObject({
  /** Hits at most. */
  limit: z.int().min(0).max(1_000).default(10),
  /** Hits to skip. */
  offset: z.int().min(0).max(10_000).default(0),
  /** Only the files of a tenant, user and agent: their directory, `''` for the workspace's root. Default: all. */
  prefix: z.string().optional(),
  /** Only lines of this day (`2026-01-31`) or later, by the names of daily notes. */
  since: dateSchema,
  /** Only lines of this day or earlier. */
  until: dateSchema,
  /** Characters of a {@link MemoryHit.snippet}; 0 for none. */
  snippetChars: z.int().min(0).default(0),
});

/** What a search looks into, and what it answers. */
export type MemorySearchOptions = z.input<typeof searchOptionsSchema>;

/** Milliseconds that a search waits for files that changed to be indexed. */
const UPDATE_MS = 2_000;

/** A line that matches. */
export interface MemoryHit {
  /** The file's path, as it was indexed. */
  readonly path: string;
  /** From 1. */
  readonly lineNumber: number;
  readonly content: string;
  /** The smaller, the better, among lines found alike. Lines with all keywords come before those with some. */
  readonly rank: number;
  /** The day of a daily note, `2026-01-31`. */
  readonly date?: string;
  /** With `snippetChars`: so much of the content around the first match, on one line. */
  readonly snippet?: string;
}

/** Hits, and why newer lines may be missing among them; `undefined` when the index is up to date. */
export interface FreshHits {
  readonly hits: readonly MemoryHit[];
  readonly stale: string | undefined;
}

/** An index that is open; where the file cannot be, one in memory and why. */
type Opened = Awaited<ReturnType<typeof openParts>> & { readonly unwritable?: MemoryIndexError };

/**
 * A full-text index over lines of text files, in SQLite (FTS5). It can be deleted at any
 * time: everything in it comes from the files. Several processes may use one index; a search never waits for a writer.
 *
 * @example
 * const index = await MemoryIndex.open('./memory_index.db');
 * await index.indexAllFromWorkspace(workspace, { prefix: 'users/alice/' });
 * const [best] = await index.search('which port is staging on?');
 */
export class MemoryIndex {
  readonly #path: string;
  readonly #updates = new Rounds<'search', string | undefined>();
  /** An index that is opened when it is needed may be opened again after it was closed. */
  readonly #isLazy: boolean;
  #opened: Promise<Opened> | undefined;
  #isClosed = false;

  /** Use {@link MemoryIndex.open}. */
  private constructor(path: string, isLazy: boolean) {
    this.#path = path;
    this.#isLazy = isLazy;
    if (!isLazy) this.#opened = this.#openParts();
  }

  /**
   * Opens the index at `path`, or creates it; `:memory:` for one that ends with the process.
   *
   * @throws {MemoryIndexError} when the file is no index, or SQLite cannot be used.
   */
  static async open(path: string): Promise<MemoryIndex> {
    const index = new MemoryIndex(path, false);
    await index.#opened;
    return index;
  }

  /** Answers an open index as it is; one at a path is opened when it is first needed. @internal */
  static at(index: string | MemoryIndex): MemoryIndex {
    return typeof index === 'string' ? new MemoryIndex(index, true) : index;
  }

  /** Tests whether it is open, or being opened. @internal */
  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** Tests whether there may be something to look after: in a file, or in memory by now. @internal */
  get isKept(): boolean {
    return this.isOpen || this.#path !== ':memory:';
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
      const gone = new Set(
        writer
          .pathsOf(prefix)
          .filter((path) => scopeOfPath(path) === prefix && isMemoryPath(path.slice(prefix.length))),
      );
      for await (const entry of memoryFiles(workspace, prefix)) {
        const mark = markOf(entry);
        const isSame = gone.delete(entry.path) && mark !== null && writer.fileOf(entry.path)?.mark === mark;
        const text = isSame ? undefined : await readIfFound(workspace, entry.path);
        if (text !== undefined) await writer.replaceText(entry.path, text, mark);
      }
      for (const path of gone) await writer.replaceText(path, '');
    });
  }

  /**
   * Brings memory files up to date, as far as that is possible in two seconds: what takes longer goes on in the background. Never
   * throws: answers why the index may not be up to date.
   */
  async update(
    workspace: Workspace,
    { prefix = '' }: { readonly prefix?: string } = {},
  ): Promise<string | undefined> {
    const update = this.#updates.run(prefix, 'search', () =>
      this.indexAllFromWorkspace(workspace, { prefix }).then(() => undefined, errorText),
    );
    // It never fails: what is caught is that the time is over.
    return unlessAborted(update, AbortSignal.timeout(UPDATE_MS)).catch(() => 'it is still being built');
  }

  /**
   * Looks after the index as a whole: brings everything that it holds of a workspace up to date, forgets what is gone, and
   * clears the file of deleted text.
   *
   * @param prefixes places that may have memory beside those that are indexed already.
   */
  async maintain(workspace: Workspace, prefixes: readonly string[] = []): Promise<void> {
    if (!this.isKept) return;
    const scopes = (await this.#writable()).writer.scopes();
    for (const prefix of new Set([...prefixes, ...scopes])) {
      await this.indexAllFromWorkspace(workspace, { prefix });
    }
    await this.purge();
  }

  /** Forgets every file whose path begins with `prefix`, and clears the index's file of what they said; tells how many. */
  async forget(prefix: string): Promise<number> {
    if (!this.isKept) return 0;
    await this.#writable();
    return this.#write(async ({ writer }) => {
      const paths = writer.pathsOf(prefix);
      for (const path of paths) await writer.replaceText(path, '');
      await writer.purge();
      return paths.length;
    });
  }

  /** Clears the index's file of deleted text. */
  async purge(): Promise<void> {
    await this.#write(({ writer }) => writer.purge());
  }

  /**
   * Finds the best lines. Any text is a query; nothing in it is an operator. A sentence finds lines that have some of its
   * words, a date what was said that day. Of more than 256 different words the first count.
   * Of a line longer than 2 000 characters, the part that matches best is answered.
   *
   * @throws {InvalidInputError} for unknown or bad options.
   * @throws {MemoryIndexError} when the index is closed, or turned out to be damaged: it has been made anew, index the files again.
   */
  async search(query: string, options: MemorySearchOptions = {}): Promise<readonly MemoryHit[]> {
    const { limit, offset, snippetChars, ...filter } = parseWith(
      searchOptionsSchema,
      options,
      'search options',
    );
    const parsed = parseQuery(query);
    const opened = await this.#live();
    try {
      // All that a search reads is of one state.
      const found = await opened.reader.transaction('BEGIN', () =>
        opened.lines.search(parsed, filter, offset, offset + limit),
      );
      return found.map(({ path, number, content, score, day }) => ({
        path,
        lineNumber: number,
        content,
        rank: -score,
        ...(day === null ? {} : { date: dateOf(day) }),
        ...(snippetChars > 0 ? { snippet: excerpt(content, parsed.terms, snippetChars) } : {}),
      }));
    } catch (error) {
      if (!isDamage(error)) throw error;
      await this.#remake(opened);
      const message = `The memory index ${this.#path} was damaged and has been made anew, empty: index the files again.`;
      throw new MemoryIndexError(this.#path, message, error);
    }
  }

  /** Brings a place up to date as far as possible now, and searches; once more when the index was damaged and made anew. @internal */
  async searchFresh(
    workspace: Workspace,
    place: { readonly prefix: string },
    query: string,
    options: MemorySearchOptions,
  ): Promise<FreshHits> {
    const search = async () => {
      await this.#live();
      const stale = await this.update(workspace, place);
      return { hits: await this.search(query, { ...options, prefix: place.prefix }), stale };
    };
    return search().catch((error: unknown) => {
      if (MemoryIndexError.isInstance(error)) return search();
      throw error;
    });
  }

  /** Closes the file. Closing twice does nothing. */
  close(): void {
    // What is searched at the moment is searched to its end.
    void this.#opened?.then(closeParts, () => {});
    if (this.#isLazy) this.#opened = undefined;
    else this.#isClosed = true;
  }

  /** @throws {MemoryIndexError} when it is closed. */
  async #live(): Promise<Opened> {
    this.#opened ??= this.#openParts();
    const opening = this.#opened;
    const opened = await opening.catch((error: unknown) => {
      // A failure must not stay: the next use tries again.
      if (this.#opened === opening) this.#opened = undefined;
      throw error;
    });
    if (!this.#isClosed) return opened;
    throw new MemoryIndexError(this.#path, `The memory index ${this.#path} is closed: open it again.`);
  }

  /** @throws {MemoryIndexError} also when the file cannot be written. */
  async #writable(): Promise<Opened> {
    const opened = await this.#live();
    if (opened.unwritable) throw opened.unwritable;
    return opened;
  }

  /** Of an agent's index whose file cannot be written, one in memory: what there is to search is in the files. */
  #openParts(): Promise<Opened> {
    return openParts(this.#path).catch(async (error: unknown) => {
      if (!this.#isLazy || !MemoryIndexError.isInstance(error) || !isUnwritable(error)) throw error;
      process.emitWarning(`It is made in memory by each process until then: ${error.message}`);
      return { ...(await openParts(':memory:')), unwritable: error };
    });
  }

  /** Writes, and once more into a new index if this one turns out to be damaged. */
  async #write<T>(task: (opened: Opened) => Promise<T>): Promise<T> {
    const opened = await this.#live();
    return task(opened).catch(async (error: unknown) => {
      if (!isDamage(error)) throw error;
      await this.#remake(opened);
      return task(await this.#live());
    });
  }

  /** Puts a new index in the place of a damaged one, unless another process has done so. */
  async #remake(damaged: Opened): Promise<void> {
    if ((await this.#opened) !== damaged) return;
    await closeParts(damaged);
    if ((await inodeOf(this.#path)) === damaged.inode) await deleteIndexFile(this.#path);
    this.#opened = this.#openParts();
    await this.#opened;
  }
}

async function openParts(path: string) {
  const connection = new Connection(await openIndexDatabase(path));
  // A connection of its own sees nothing of a change that is not complete.
  const reader =
    path === ':memory:' ? connection : new Connection(await openIndexDatabase(path, { readOnly: true }));
  const writer = new LineWriter(connection, path);
  // The inode tells a file from another one that took its place.
  return { connection, writer, reader, inode: await inodeOf(path), lines: new LineSearch(reader) };
}

async function closeParts({ reader, connection }: Opened): Promise<void> {
  await reader.close();
  await connection.close();
}

async function inodeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.ino;
}
