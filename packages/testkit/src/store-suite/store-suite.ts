import { setImmediate as nextTask } from 'node:timers/promises';
import type { SessionKey, SessionScope, SessionStore, Workspace } from '@x/core';
import type { ListOptions } from '@x/core/store';
import type { TestContext } from 'vitest';
import { SuiteTests, type SuiteTestsOptions } from '../suite-tests.js';

/** For stores whose sessions expire: reads and changes the remaining time. */
export interface StoreSuiteExpiry {
  /** Milliseconds between the last commit to a session of `create` and its expiry. */
  readonly ttlMs: number;
  /** Returns the remaining milliseconds of a session. */
  remainingMs(key: SessionKey): Promise<number>;
  /** Makes a session expire in `ms` milliseconds, as if its last commit was long ago. */
  expireIn(key: SessionKey, ms: number): Promise<void>;
}

/** For stores that use a network: breaks the connection of the last `create`. */
export interface StoreSuiteFaults {
  /**
   * Breaks the connection once, at the next operation: before the request reaches the backend, in the middle of the request, or
   * after the backend has executed it and before the reply arrives. Later requests succeed.
   */
  cut(when: 'before' | 'during' | 'after'): void | Promise<void>;
}

/** Options of `sessionStoreSuite`. */
export interface SessionStoreSuiteOptions extends SuiteTestsOptions {
  /** Printed in the title of the suite. */
  readonly name: string;
  /** Opens a store on a new, empty area. Called once for each test. The suite closes the store. */
  create(): SessionStore | Promise<SessionStore>;
  /**
   * Opens a second store on the area of the last `create`, as another process would. Without it, the tests with two instances
   * are not registered.
   */
  readonly reopen?: (() => SessionStore | Promise<SessionStore>) | undefined;
  /** Default: sessions never expire. */
  readonly expiry?: StoreSuiteExpiry | undefined;
  readonly faults?: StoreSuiteFaults | undefined;
  /**
   * Changes the format number that is stored with a session, or with all sessions of the area. Omit it for stores whose data does not
   * survive an upgrade.
   */
  readonly setFormat?: ((key: SessionKey, format: number) => Promise<void>) | undefined;
  /** Damages the stored data of one session, so that neither `load` nor `list` can read it. */
  readonly damage?: ((key: SessionKey) => Promise<void>) | undefined;
  /**
   * Size of the largest message, in bytes, at most 64 MiB. Default 4 MiB, or the number of MiB in the environment variable
   * LARGE_PAYLOAD_MIB.
   */
  readonly largePayloadBytes?: number | undefined;
  /** Length of the longest conversation, in messages; default 10 000. */
  readonly manyMessages?: number | undefined;
}

const MIB = 1024 * 1024;

type Context = Pick<TestContext, 'skip'>;

/** Registers the tests of the suite. */
export class StoreSuite extends SuiteTests {
  readonly options: SessionStoreSuiteOptions;
  readonly largePayloadBytes: number;

  constructor(options: SessionStoreSuiteOptions) {
    super(options);
    this.options = options;
    this.largePayloadBytes = options.largePayloadBytes ?? Number(process.env.LARGE_PAYLOAD_MIB ?? 4) * MIB;
    if (!(this.largePayloadBytes <= 64 * MIB)) {
      throw new RangeError('`largePayloadBytes`, or LARGE_PAYLOAD_MIB, must be at most 64 MiB.');
    }
  }

  /** Registers a test with a new store. `reopen` opens a second store on the same data. */
  test(
    name: string,
    run: (store: SessionStore, reopen: () => Promise<SessionStore>, context: Context) => Promise<void>,
  ): void {
    this.register(name, async (context) => {
      const store = await this.options.create();
      const opened = [store];
      const reopen = async () => {
        const another = await this.options.reopen?.();
        if (another === undefined) throw new Error('This test needs the option `reopen`.');
        opened.push(another);
        return another;
      };
      try {
        await run(store, reopen, context);
      } finally {
        for (const each of opened) await each.close();
      }
    });
  }

  /** Registers a test with a new store and a second one on the same data. */
  testTwo(name: string, run: (first: SessionStore, second: SessionStore) => Promise<void>): void {
    this.test(name, async (first, reopen) => run(first, await reopen()));
  }

  /** Registers a test for stores with leases. */
  testLeases(
    name: string,
    run: (store: SessionStore, reopen: () => Promise<SessionStore>) => Promise<void>,
  ): void {
    this.test(name, async (store, reopen, { skip }) => {
      if (store.leases === undefined) return skip('the store has no leases');
      await run(store, reopen);
    });
  }
}

/** A storage without files. */
export const noFiles = { stat: async () => undefined, list: async function* () {} } as unknown as Workspace;

/** Returns the keys that a store lists, encoded and sorted. */
export async function listed(
  store: SessionStore,
  scope?: SessionScope,
  options?: ListOptions,
): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(scope, options)) keys.push(key.toString());
  return keys.sort();
}

/**
 * Polls until there is a result. Lets timers run in between, so that the time limit of the test can end it.
 *
 * @param mayPass Tests whether to retry after an error. Default: never.
 */
export async function eventually<T>(
  ask: () => Promise<T | undefined>,
  mayPass: (error: unknown) => boolean = () => false,
): Promise<T> {
  for (;;) {
    const answer = await ask().catch((error: unknown) => {
      if (!mayPass(error)) throw error;
      return undefined;
    });
    if (answer !== undefined) return answer;
    await nextTask();
  }
}
