import { stat } from 'node:fs/promises';
import type { Workspace } from '@x/core';
import { errorText, parseWith, unlessAborted } from '@x/core/internal';
import * as z from 'zod';
import { MemoryIndexError } from './errors.js';
import { Rounds } from './exclusively.js';
import { dayOf } from './index/dates.js';
import {
  Connection,
  deleteIndexFile,
  isDamage,
  isUnwritable,
  openIndexDatabase,
} from './index/index-database.js';
import { LineSearch } from './index/line-search.js';
import { LineWriter } from './index/line-writer.js';
import { memoryQuery } from './index/query.js';
import { scopeOfPath } from './index/scopes.js';
import { isMemoryPath, markOf, memoryFiles, readIfFound } from './memory-files.js';

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
});

/** Options of a search. */
export type MemorySearchOptions = z.input<typeof searchOptionsSchema>;

/** How many milliseconds a search waits until changed files are indexed. */
const UPDATE_MS = 2_000;

/** A line that matches. */
export interface MemoryHit {
  /** The file's path, as it was indexed. */
  readonly path: string;
  /** From 1. */
  readonly lineNumber: number;
  readonly content: string;
  /** Smaller is better. Lines with all keywords come before lines with some of them, whatever their ranks. */
  readonly rank: number;
}

/** Hits, and the reason why newer lines may be missing; `undefined` if the index is up to date. */
export interface FreshHits<Hit extends MemoryHit = MemoryHit> {
  readonly hits: readonly Hit[];
  readonly stale: string | undefined;
}

/** An open index. If the file cannot be used, it is an index in memory, with the reason. */
type Opened = Awaited<ReturnType<typeof openParts>> & { readonly unwritable?: MemoryIndexError };

/**
 * A full-text index over lines of text files, in SQLite (FTS5). You can delete it at any time, because everything in it comes
 * from the files. Several processes may use one index; a search never waits for a writer.
 *
 * @example
 * const index = await MemoryIndex.open('./memory_index.db');
 * await index.indexAllFromWorkspace(workspace, { prefix: 'users/alice/' });
 * const [best] = await index.search('which port is staging on?');
 */
export class MemoryIndex {
  readonly #path: string;
  /** Whether an index in memory takes the place of a file that cannot be written. */
  readonly #hasFallback: boolean;
  readonly #updates = new Rounds<string | undefined>();
  #opened: Promise<Opened> | undefined;
  #isClosed = false;

  /** Use {@link MemoryIndex.open}. */
  private constructor(path: string, hasFallback: boolean) {
    this.#path = path;
    this.#hasFallback = hasFallback;
  }

  /**
   * Opens the index at `path`, or creates it; `:memory:` for one that ends with the process.
   *
   * @throws {MemoryIndexError} when the file is not an index, or SQLite cannot be used.
   */
  static async open(path: string): Promise<MemoryIndex> {
    const index = new MemoryIndex(path, false);
    await index.#live();
    return index;
  }

  /** Returns an index as it is, and for a path one that is opened when it is first used. @internal */
  static at(index: string | MemoryIndex): MemoryIndex {
    return typeof index === 'string' ? new MemoryIndex(index, true) : index;
  }

  /** Tests whether there may be anything in the index: it has a file, or was opened in memory. @internal */
  get isKept(): boolean {
    return this.#opened !== undefined || this.#path !== ':memory:';
  }

  /** Replaces all indexed lines of a file. Lines that did not change are not written again. */
  async indexFromString(path: string, text: string): Promise<void> {
    await this.#use(({ writer }) => writer.replaceText(path, text));
  }

  /**
   * Indexes `MEMORY.md` and every Markdown file below `memory/`, and removes deleted files from the index. Files with the same
   * size and time as before are not read.
   *
   * @param prefix the directory of these files in the workspace; empty, or ends with `/`.
   */
  async indexAllFromWorkspace(
    workspace: Workspace,
    { prefix = '' }: { readonly prefix?: string } = {},
  ): Promise<void> {
    await this.#use(async ({ writer }) => {
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
   * Updates the index for at most two seconds; what takes longer continues in the background. It never throws: it returns the
   * reason why the index may not be up to date, or `undefined`.
   */
  async update(
    workspace: Workspace,
    { prefix = '' }: { readonly prefix?: string } = {},
  ): Promise<string | undefined> {
    const update = this.#updates.run(prefix, () =>
      this.indexAllFromWorkspace(workspace, { prefix }).then(() => undefined, errorText),
    );
    // The update never rejects. Only the timeout is caught here.
    return unlessAborted(update, AbortSignal.timeout(UPDATE_MS)).catch(() => 'it is still being built');
  }

  /**
   * Updates everything that the index holds of a workspace, removes deleted files, and clears deleted text from its file.
   */
  async maintain(workspace: Workspace): Promise<void> {
    if (!this.isKept) return;
    const scopes = (await this.#writable()).writer.scopes();
    for (const prefix of scopes) await this.indexAllFromWorkspace(workspace, { prefix });
    await this.purge();
  }

  /** Removes every file whose path begins with `prefix`, and clears their text from the index's file. Returns their number. */
  async forget(prefix: string): Promise<number> {
    if (!this.isKept) return 0;
    await this.#writable();
    return this.#use(async ({ writer }) => {
      const paths = writer.pathsOf(prefix);
      for (const path of paths) await writer.replaceText(path, '');
      await writer.purge();
      return paths.length;
    });
  }

  /** Clears deleted text from the index's file. */
  async purge(): Promise<void> {
    await this.#use(({ writer }) => writer.purge());
  }

  /**
   * Finds the best lines. Any text is a query; there are no operators. A sentence finds lines that have some of its words, a
   * date finds what was said on that day. Only the first 256 different words count. Of a line longer than 2 000 characters, the
   * part that matches best is returned.
   *
   * @throws {InvalidInputError} for unknown or invalid options.
   * @throws {MemoryIndexError} when the index is closed.
   */
  async search(query: string, options: MemorySearchOptions = {}): Promise<readonly MemoryHit[]> {
    return this.#use((opened) => find(opened, query, options));
  }

  /** Updates a place and searches it. If the index is damaged, makes it again and does both again. @internal */
  async searchFresh(
    workspace: Workspace,
    { prefix }: { readonly prefix: string },
    query: string,
    options: MemorySearchOptions,
  ): Promise<FreshHits> {
    return this.#use(async () => {
      const stale = await this.update(workspace, { prefix });
      return { hits: await find(await this.#live(), query, { ...options, prefix }), stale };
    });
  }

  /** Closes the file. Closing twice does nothing. */
  close(): void {
    this.#isClosed = true;
    // Running searches end before the file is closed.
    void this.#opened?.then(closeParts, () => {});
  }

  /** @throws {MemoryIndexError} when the index is closed, or its file cannot be opened. */
  async #live(): Promise<Opened> {
    if (this.#isClosed)
      throw new MemoryIndexError(this.#path, `The memory index ${this.#path} is closed. Open it again.`);
    this.#opened ??= this.#open().catch((error: unknown) => {
      // The next use tries again.
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** @throws {MemoryIndexError} when the index is closed, or its file cannot be written. */
  async #writable(): Promise<Opened> {
    const opened = await this.#live();
    if (opened.unwritable) throw opened.unwritable;
    return opened;
  }

  #open(): Promise<Opened> {
    return openParts(this.#path).catch(async (error: unknown) => {
      if (!this.#hasFallback || !MemoryIndexError.isInstance(error) || !isUnwritable(error)) throw error;
      process.emitWarning(`Each process keeps an index in memory until this is fixed: ${error.message}`);
      return { ...(await openParts(':memory:')), unwritable: error };
    });
  }

  /** Uses the index. If it is damaged, makes it again, empty, and uses it again. */
  async #use<T>(task: (opened: Opened) => Promise<T>): Promise<T> {
    const opened = await this.#live();
    return task(opened).catch(async (error: unknown) => {
      if (!isDamage(error)) throw error;
      await this.#remake(opened);
      return task(await this.#live());
    });
  }

  /** Replaces a damaged index by a new one, unless another process did so. */
  async #remake(damaged: Opened): Promise<void> {
    if ((await this.#opened) !== damaged) return;
    await closeParts(damaged);
    if ((await inodeOf(this.#path)) === damaged.inode) await deleteIndexFile(this.#path);
    process.emitWarning(`The memory index ${this.#path} was damaged, and is made again from the files.`);
    this.#opened = undefined;
  }
}

/** Finds lines. The transaction makes the search read one state of the index. */
async function find({ reader, lines }: Opened, query: string, options: MemorySearchOptions) {
  const { limit, offset, ...filter } = parseWith(searchOptionsSchema, options, 'search options');
  const parsed = memoryQuery(query);
  const found = await reader.transaction('BEGIN', () => lines.search(parsed, filter, offset, offset + limit));
  return found.map(({ path, number, content, score }): MemoryHit => {
    return { path, lineNumber: number, content, rank: -score };
  });
}

async function openParts(path: string) {
  const connection = new Connection(await openIndexDatabase(path));
  // A second connection does not see incomplete changes.
  const reader =
    path === ':memory:' ? connection : new Connection(await openIndexDatabase(path, { readOnly: true }));
  const writer = new LineWriter(connection);
  // The inode changes when another file takes its place.
  return { connection, writer, reader, inode: await inodeOf(path), lines: new LineSearch(reader) };
}

async function closeParts({ reader, connection }: Opened): Promise<void> {
  await reader.close();
  await connection.close();
}

async function inodeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.ino;
}
