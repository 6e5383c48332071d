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
import { isMemoryPath, markOf, memoryFiles, readEdited } from './memory-files.js';

const dateSchema = z.iso.date().transform(dayOf).optional();
const searchOptionsSchema = z.strictObject({
  /** Maximum number of hits. Default 10. */
  limit: z.int().min(0).max(1_000).default(10),
  /** Number of hits to skip. Default 0. */
  offset: z.int().min(0).max(10_000).default(0),
  /** Limits the search to the files of a tenant, user and agent: their directory, `''` for the root. Default: all files. */
  prefix: z.string().optional(),
  /** Only lines of this day (`2026-01-31`) or later. The day comes from the name of a daily note. */
  since: dateSchema,
  /** Only lines of this day or earlier. */
  until: dateSchema,
});

/** Options of a search. */
export type MemorySearchOptions = z.input<typeof searchOptionsSchema>;

/** How long a search waits until changed files are indexed, in milliseconds. */
const UPDATE_MS = 2_000;

/** A line that matches. */
export interface MemoryHit {
  /** The file's path as indexed. */
  readonly path: string;
  /** Counted from 1. */
  readonly lineNumber: number;
  readonly content: string;
  /** Smaller is better. Lines with all keywords come before lines with some of them, whatever their rank. */
  readonly rank: number;
}

/** Hits, and the reason why newer lines may be missing (`undefined` if the index is up to date). */
export interface FreshHits<Hit extends MemoryHit = MemoryHit> {
  readonly hits: readonly Hit[];
  readonly stale: string | undefined;
}

/** An open index. If the file cannot be used, an index in memory, with the reason. */
type Opened = Awaited<ReturnType<typeof openParts>> & { readonly unwritable?: MemoryIndexError };

/**
 * A full-text index over lines of text files, in SQLite (FTS5). You can delete it at any time, because it is rebuilt from the files.
 * Several processes may use one index. A search never waits for a writer.
 *
 * @example
 * const index = await MemoryIndex.open('./memory_index.db');
 * await index.indexAllFromWorkspace(workspace, { prefix: 'users/alice/' });
 * const [best] = await index.search('which port is staging on?');
 */
export class MemoryIndex {
  readonly #path: string;
  /** `true` if an index in memory replaces a file that cannot be written. */
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
   * Opens or creates the index at `path`. `:memory:` creates an index that ends with the process.
   *
   * @throws {MemoryIndexError} when the file is not an index, or SQLite cannot be used.
   */
  static async open(path: string): Promise<MemoryIndex> {
    const index = new MemoryIndex(path, false);
    await index.#live();
    return index;
  }

  /** Returns an index unchanged. For a path, returns an index that is opened on first use. @internal */
  static at(index: string | MemoryIndex): MemoryIndex {
    return typeof index === 'string' ? new MemoryIndex(index, true) : index;
  }

  /** Tests whether the index may have content: it has a file, or was opened in memory. @internal */
  get isKept(): boolean {
    return this.#opened !== undefined || this.#path !== ':memory:';
  }

  /** Replaces all indexed lines of a file. Unchanged lines are not rewritten. */
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
        const text = isSame ? undefined : await readEdited(workspace, entry.path);
        if (text !== undefined) await writer.replaceText(entry.path, text, mark);
      }
      for (const path of gone) await writer.replaceText(path, '');
    });
  }

  /**
   * Updates the index for at most two seconds, and continues in the background if more time is needed. Never throws. Returns the reason why
   * the index may be outdated, or `undefined`.
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

  /** Updates all indexed scopes of a workspace, removes deleted files, and purges deleted text from the index's file. */
  async maintain(workspace: Workspace): Promise<void> {
    if (!this.isKept) return;
    const scopes = (await this.#writable()).writer.scopes();
    for (const prefix of scopes) await this.indexAllFromWorkspace(workspace, { prefix });
    await this.purge();
  }

  /** Removes every file whose path begins with `prefix`, and purges its text from the index. Returns the number of files. */
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

  /** Purges deleted text from the index's file. */
  async purge(): Promise<void> {
    await this.#use(({ writer }) => writer.purge());
  }

  /**
   * Finds the best lines. Any text is a query; there are no operators. A sentence finds lines that contain some of its words. A date finds
   * facts that were stated on that day. Only the first 256 different words count. For a line longer than 2 000 characters, the best
   * matching part is returned.
   *
   * @throws {InvalidInputError} for unknown or invalid options.
   * @throws {MemoryIndexError} when the index is closed.
   */
  async search(query: string, options: MemorySearchOptions = {}): Promise<readonly MemoryHit[]> {
    return this.#use((opened) => find(opened, query, options));
  }

  /** Updates a scope and searches it. If the index is damaged, rebuilds it and repeats both. @internal */
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

  /** Closes the index. Closing it twice does nothing. */
  close(): void {
    this.#isClosed = true;
    // Let running searches finish before the file is closed.
    void this.#opened?.then(closeParts, () => {});
  }

  /** @throws {MemoryIndexError} when the index is closed, or its file cannot be opened. */
  async #live(): Promise<Opened> {
    if (this.#isClosed)
      throw new MemoryIndexError(this.#path, `The memory index ${this.#path} is closed. Open it again.`);
    this.#opened ??= this.#open().catch((error: unknown) => {
      // Retry on the next use.
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
      process.emitWarning(`Each process keeps its own index until this is fixed: ${error.message}`);
      return { ...(await openParts(':memory:')), unwritable: error };
    });
  }

  /** Uses the index. If it is damaged, recreates it empty and retries. */
  async #use<T>(task: (opened: Opened) => Promise<T>): Promise<T> {
    const opened = await this.#live();
    return task(opened).catch(async (error: unknown) => {
      if (!isDamage(error)) throw error;
      await this.#remake(opened);
      return task(await this.#live());
    });
  }

  /** Replaces a damaged index by a new one, unless another process did so already. */
  async #remake(damaged: Opened): Promise<void> {
    if ((await this.#opened) !== damaged) return;
    await closeParts(damaged);
    if ((await inodeOf(this.#path)) === damaged.inode) await deleteIndexFile(this.#path);
    process.emitWarning(`The memory index ${this.#path} was damaged. It is rebuilt from the memory files.`);
    this.#opened = undefined;
  }
}

/** Finds lines. The transaction gives the search one consistent state of the index. */
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
  // The inode changes when the file is replaced.
  return { connection, writer, reader, inode: await inodeOf(path), lines: new LineSearch(reader) };
}

async function closeParts({ reader, connection }: Opened): Promise<void> {
  await reader.close();
  await connection.close();
}

async function inodeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.ino;
}
