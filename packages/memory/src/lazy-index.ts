import type { Workspace } from '@x/core';
import { MemoryIndexError } from './errors.js';
import { type MemoryHit, MemoryIndex, type MemorySearchOptions } from './memory-index.js';

/** Hits, and why newer lines may be missing among them; `undefined` when the index is up to date. */
export interface FreshHits {
  readonly hits: readonly MemoryHit[];
  readonly stale: string | undefined;
}

/** An index that is opened by its path when it is first needed; one that was given open stays the caller's. */
export class LazyIndex {
  readonly #index: string | MemoryIndex;
  #own: Promise<MemoryIndex> | undefined;

  constructor(index: string | MemoryIndex) {
    this.#index = index;
  }

  /** The index, if it is open. */
  get opened(): Promise<MemoryIndex> | undefined {
    return typeof this.#index === 'string' ? this.#own : Promise.resolve(this.#index);
  }

  /** @throws {MemoryIndexError} when it cannot be opened. */
  async open(): Promise<MemoryIndex> {
    if (typeof this.#index !== 'string') return this.#index;
    this.#own ??= MemoryIndex.open(this.#index);
    // A failure must not stay: the next search tries again.
    this.#own.catch(() => {
      this.#own = undefined;
    });
    return this.#own;
  }

  /** Brings a place of the workspace up to date, as far as that is possible now, and searches it. */
  async search(
    workspace: Workspace,
    place: { readonly prefix: string; readonly logs?: boolean },
    query: string,
    options: MemorySearchOptions,
  ): Promise<FreshHits> {
    const index = await this.open();
    const search = async () => {
      const stale = await index.update(workspace, place);
      const sources = [place.logs === true ? ('sessions' as const) : ('memory' as const)];
      return { hits: await index.search(query, { ...options, prefix: place.prefix, sources }), stale };
    };
    return search().catch((error: unknown) => {
      // A damaged index has been made anew by now: once more, from the files.
      if (MemoryIndexError.isInstance(error)) return search();
      throw error;
    });
  }

  /** Looks after the index, unless another process does: see {@link MemoryIndex.maintain}. */
  async maintain(workspace: Workspace, prefixes: readonly string[]): Promise<void> {
    const index = await this.open();
    if (!index.readOnly) await index.maintain(workspace, prefixes);
  }

  /** Forgets all below a prefix. Answers how many files that were; none of an index that another process maintains. */
  async forget(prefix: string): Promise<number> {
    const index = await this.open();
    return index.readOnly ? 0 : index.forget(prefix);
  }

  /** Closes the index that this opened. */
  async close(): Promise<void> {
    const own = this.#own;
    this.#own = undefined;
    await own?.then((index) => index.close());
  }
}
