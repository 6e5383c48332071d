import type { SessionChange, SessionKey, SessionStore, StoredSession } from '@x/core';
import { type TestContext, test } from 'vitest';

/** Tests that a store does not pass, and why. */
export interface StoreSuiteOptOut {
  readonly reason: string;
  /** The exact names of the tests. */
  readonly tests: readonly string[];
}

/** For stores whose sessions expire: how to see and move the time that is left. */
export interface StoreSuiteExpiry {
  /** Milliseconds after its last commit at which a session of `create` is gone. */
  readonly ttlMs: number;
  remainingMs(key: SessionKey): Promise<number>;
  /** Makes a session expire in `ms`, as if it had been committed to long ago. */
  expireIn(key: SessionKey, ms: number): Promise<void>;
}

/** For stores behind a network: how to break the connection of the last `create`. */
export interface StoreSuiteFaults {
  /**
   * Breaks it once, at the next operation: before the backend has heard of it, in the middle of the request, or after
   * the backend has done it and before the answer arrives. What follows gets through again.
   */
  cut(when: 'before' | 'during' | 'after'): void | Promise<void>;
}

/** For stores that write in several steps: how to die between them. */
export interface StoreSuiteCrashes {
  /** For the report: `before the head is replaced`… */
  readonly points: readonly string[];
  /** Commits to the area of the last `create` as a process that dies at this point. Resolves once it is dead. */
  commit(point: string, key: SessionKey, change: SessionChange): Promise<void>;
}

/** Writes a session the way an older release did, and answers what must be read. */
export type WriteOlderFormat = (
  key: SessionKey,
) => Promise<Pick<StoredSession, 'version' | 'head' | 'messages'>>;

export interface SessionStoreSuiteOptions {
  /** For the report. */
  readonly name: string;
  /** A store on an empty area of its own. The suite closes it. */
  create(): SessionStore | Promise<SessionStore>;
  /**
   * Another store on the area of the last `create`, as a second process would open it. Without it the tests with two
   * instances are left out.
   */
  readonly reopen?: (() => SessionStore | Promise<SessionStore>) | undefined;
  readonly skip?: readonly StoreSuiteOptOut[] | undefined;
  /** Left out, sessions are taken to live for ever. */
  readonly expiry?: StoreSuiteExpiry | undefined;
  readonly faults?: StoreSuiteFaults | undefined;
  readonly crashes?: StoreSuiteCrashes | undefined;
  /** By name, the formats of older releases that the store still reads. */
  readonly olderFormats?: Readonly<Record<string, WriteOlderFormat>> | undefined;
  /**
   * Size of the largest message, in bytes, at most 64 MiB; default 4 MiB, or as many as the environment variable
   * LARGE_PAYLOAD_MIB says.
   */
  readonly largePayloadBytes?: number | undefined;
  /** Length of the longest conversation, in messages; default 10 000. */
  readonly manyMessages?: number | undefined;
  /** For one test, in milliseconds; default 120 000. */
  readonly timeoutMs?: number | undefined;
}

const MIB = 1024 * 1024;

/** What the aspects of the suite register their tests with. */
export class StoreSuite {
  readonly largePayloadBytes: number;
  readonly manyMessages: number;
  readonly expiry: StoreSuiteExpiry | undefined;
  readonly faults: StoreSuiteFaults | undefined;
  readonly crashes: StoreSuiteCrashes | undefined;
  readonly olderFormats: Readonly<Record<string, WriteOlderFormat>>;
  readonly #options: SessionStoreSuiteOptions;
  readonly #reasons: ReadonlyMap<string, string>;
  readonly #names = new Set<string>();

  constructor(options: SessionStoreSuiteOptions) {
    this.largePayloadBytes = options.largePayloadBytes ?? Number(process.env.LARGE_PAYLOAD_MIB ?? 4) * MIB;
    if (!(this.largePayloadBytes <= 64 * MIB)) {
      throw new RangeError('`largePayloadBytes`, or LARGE_PAYLOAD_MIB, must be at most 64 MiB.');
    }
    this.expiry = options.expiry;
    this.faults = options.faults;
    this.crashes = options.crashes;
    this.olderFormats = options.olderFormats ?? {};
    this.manyMessages = options.manyMessages ?? 10_000;
    this.#options = options;
    this.#reasons = new Map(
      (options.skip ?? []).flatMap(({ reason, tests }) => tests.map((name) => [name, reason])),
    );
  }

  /** Whether there can be tests with two stores on the same data. */
  get canReopen(): boolean {
    return this.#options.reopen !== undefined;
  }

  /** A test with a fresh store. */
  test(name: string, run: (store: SessionStore) => Promise<void>): void {
    this.#register(name, async () => {
      const store = await this.#options.create();
      try {
        await run(store);
      } finally {
        await store.close();
      }
    });
  }

  /** A test with a fresh store and a second one on the same data; only when {@link StoreSuite.canReopen}. */
  testTwo(name: string, run: (first: SessionStore, second: SessionStore) => Promise<void>): void {
    const { reopen } = this.#options;
    if (reopen === undefined) throw new Error('The options of the suite have no `reopen`.');
    this.#register(name, async () => {
      const first = await this.#options.create();
      const second = await reopen();
      try {
        await run(first, second);
      } finally {
        await first.close();
        await second.close();
      }
    });
  }

  /** A test for stores with leases; `reopen` opens a second store on the same data. */
  testLeases(
    name: string,
    run: (store: SessionStore, reopen: () => Promise<SessionStore>) => Promise<void>,
  ): void {
    this.#register(name, async ({ skip }) => {
      const opened = [await this.#options.create()];
      try {
        const [store] = opened;
        if (store?.lease === undefined) return skip('the store has no leases');
        await run(store, async () => {
          const second = await this.#options.reopen?.();
          if (second === undefined) throw new Error('The options of the suite have no `reopen`.');
          opened.push(second);
          return second;
        });
      } finally {
        for (const store of opened) await store.close();
      }
    });
  }

  /** A test that no opt-out is out of date: known only when all tests are. */
  testOptOuts(): void {
    test('every opt-out names a test', () => {
      const unknown = [...this.#reasons.keys()].filter((name) => !this.#names.has(name));
      if (unknown.length === 0) return;
      throw new Error(`The suite has no tests of these names; correct \`skip\`: ${unknown.join('; ')}`);
    });
  }

  #register(name: string, run: (context: Pick<TestContext, 'skip'>) => Promise<void>): void {
    const reason = this.#reasons.get(name);
    if (this.#names.has(name)) throw new Error(`Two tests are named "${name}".`);
    this.#names.add(name);
    const title = reason === undefined ? name : `${name} (left out: ${reason})`;
    test(title, { timeout: this.#options.timeoutMs ?? 120_000, skip: reason !== undefined }, run);
  }
}
