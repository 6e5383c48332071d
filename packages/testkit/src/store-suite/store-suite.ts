import { setImmediate as nextTask } from 'node:timers/promises';
import type {
  ListOptions,
  SessionChange,
  SessionKey,
  SessionScope,
  SessionStore,
  StoredSession,
} from '@x/core';
import type { TestContext } from 'vitest';
import { SuiteTests, type SuiteTestsOptions } from '../suite-tests.js';

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

export interface SessionStoreSuiteOptions extends SuiteTestsOptions {
  /** For the report. */
  readonly name: string;
  /** A store on an empty area of its own. The suite closes it. */
  create(): SessionStore | Promise<SessionStore>;
  /**
   * Another store on the area of the last `create`, as a second process would open it. Without it the tests with two
   * instances are left out.
   */
  readonly reopen?: (() => SessionStore | Promise<SessionStore>) | undefined;
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
}

const MIB = 1024 * 1024;

type Context = Pick<TestContext, 'skip'>;

/** What the aspects of the suite register their tests with. */
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

  /** A test with a fresh store; `reopen` opens another one on the same data, where {@link SessionStoreSuiteOptions.reopen} does. */
  test(
    name: string,
    run: (store: SessionStore, reopen: () => Promise<SessionStore>, context: Context) => Promise<void>,
  ): void {
    this.register(name, async (context) => {
      const store = await this.options.create();
      const opened = [store];
      const reopen = async () => {
        const another = await this.options.reopen?.();
        if (another === undefined) throw new Error('The options of the suite have no `reopen`.');
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

  /** A test with a fresh store and a second one on the same data. */
  testTwo(name: string, run: (first: SessionStore, second: SessionStore) => Promise<void>): void {
    this.test(name, async (first, reopen) => run(first, await reopen()));
  }

  /** A test for stores with leases. */
  testLeases(
    name: string,
    run: (store: SessionStore, reopen: () => Promise<SessionStore>) => Promise<void>,
  ): void {
    this.test(name, async (store, reopen, { skip }) => {
      if (store.lease === undefined) return skip('the store has no leases');
      await run(store, reopen);
    });
  }
}

/** The keys that a store lists, encoded and sorted. */
export async function listed(
  store: SessionStore,
  scope?: SessionScope,
  options?: ListOptions,
): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(scope, options)) keys.push(key.toString());
  return keys.sort();
}

/** Asks until there is an answer. Lets timers run in between, so that the time limit of the test can end it. */
export async function eventually<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await nextTask();
  }
}
