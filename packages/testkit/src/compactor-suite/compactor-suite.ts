import type { Compactor } from '@x/core';
import { test } from 'vitest';

/** Tests that a compactor does not pass, and why. */
export interface CompactorSuiteOptOut {
  readonly reason: string;
  /** The exact names of the tests. */
  readonly tests: readonly string[];
}

export interface CompactorSuiteOptions {
  /** For the report. */
  readonly name: string;
  /** A new compactor. It is told the window with every call. */
  create(): Compactor | Promise<Compactor>;
  readonly skip?: readonly CompactorSuiteOptOut[] | undefined;
  /** How many conversations each law is tried on; default 20. */
  readonly conversations?: number | undefined;
  /** For one test, in milliseconds; default 120 000. */
  readonly timeoutMs?: number | undefined;
}

/** What the aspects of the suite register their tests with. */
export class CompactorSuite {
  /** The seeds of the conversations that each law is tried on. */
  readonly seeds: readonly number[];
  readonly #options: CompactorSuiteOptions;
  readonly #reasons: ReadonlyMap<string, string>;
  readonly #names = new Set<string>();

  constructor(options: CompactorSuiteOptions) {
    this.#options = options;
    this.seeds = Array.from({ length: options.conversations ?? 20 }, (_, index) => index + 1);
    this.#reasons = new Map(
      (options.skip ?? []).flatMap(({ reason, tests }) => tests.map((name) => [name, reason])),
    );
  }

  /** A test with a fresh compactor. */
  test(name: string, run: (compactor: Compactor) => Promise<void>): void {
    const reason = this.#reasons.get(name);
    this.#names.add(name);
    const title = reason === undefined ? name : `${name} (left out: ${reason})`;
    const options = { timeout: this.#options.timeoutMs ?? 120_000, skip: reason !== undefined };
    test(title, options, async () => run(await this.#options.create()));
  }

  /** A test that no opt-out is out of date: known only when all tests are. */
  testOptOuts(): void {
    test('every opt-out names a test', () => {
      const unknown = [...this.#reasons.keys()].filter((name) => !this.#names.has(name));
      if (unknown.length === 0) return;
      throw new Error(`The suite has no tests of these names; correct \`skip\`: ${unknown.join('; ')}`);
    });
  }
}
