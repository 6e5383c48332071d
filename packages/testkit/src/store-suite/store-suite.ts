import type { SessionStore } from '@x/core';
import { test } from 'vitest';

/** Tests that a store does not pass, and why. */
export interface StoreSuiteOptOut {
  readonly reason: string;
  /** The exact names of the tests. */
  readonly tests: readonly string[];
}

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
  /** Size of the largest message, in bytes; default 4 MiB. */
  readonly largePayloadBytes?: number | undefined;
  /** Length of the longest conversation, in messages; default 10 000. */
  readonly manyMessages?: number | undefined;
  /** For one test, in milliseconds; default 30 000. */
  readonly timeoutMs?: number | undefined;
}

/** What the aspects of the suite register their tests with. */
export class StoreSuite {
  readonly largePayloadBytes: number;
  readonly manyMessages: number;
  readonly #options: SessionStoreSuiteOptions;
  readonly #reasons: ReadonlyMap<string, string>;
  readonly #names = new Set<string>();

  constructor(options: SessionStoreSuiteOptions) {
    this.largePayloadBytes = options.largePayloadBytes ?? 4 * 1024 * 1024;
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

  /** A test that no opt-out is out of date: known only when all tests are. */
  testOptOuts(): void {
    test('every opt-out names a test', () => {
      const unknown = [...this.#reasons.keys()].filter((name) => !this.#names.has(name));
      if (unknown.length === 0) return;
      throw new Error(`The suite has no tests of these names; correct \`skip\`: ${unknown.join('; ')}`);
    });
  }

  #register(name: string, run: () => Promise<void>): void {
    const reason = this.#reasons.get(name);
    if (this.#names.has(name)) throw new Error(`Two tests are named "${name}".`);
    this.#names.add(name);
    const title = reason === undefined ? name : `${name} (left out: ${reason})`;
    test(title, { timeout: this.#options.timeoutMs ?? 30_000, skip: reason !== undefined }, run);
  }
}
