import { type TestContext, test } from 'vitest';

/** Tests that an implementation cannot pass, with the reason. */
export interface SuiteOptOut {
  /** Printed in the title of each skipped test. */
  readonly reason: string;
  /** The exact titles of the tests. */
  readonly tests: readonly string[];
}

export interface SuiteTestsOptions {
  /** Tests to skip. An unknown title fails the suite, so that the list cannot become outdated. Default: none. */
  readonly skip?: readonly SuiteOptOut[] | undefined;
  /** Time limit of one test, in milliseconds. Default 120 000. */
  readonly timeoutMs?: number | undefined;
}

/** Registers the tests of a suite with Vitest, and skips those that the options name. */
export class SuiteTests {
  readonly #reasons: ReadonlyMap<string, string>;
  readonly #names = new Set<string>();
  readonly #timeout: number;

  constructor({ skip = [], timeoutMs = 120_000 }: SuiteTestsOptions) {
    this.#reasons = new Map(skip.flatMap(({ reason, tests }) => tests.map((name) => [name, reason])));
    this.#timeout = timeoutMs;
  }

  /** Registers a test, unless the options skip it. */
  register(name: string, run: (context: Pick<TestContext, 'skip'>) => Promise<void>): void {
    const reason = this.#reasons.get(name);
    if (this.#names.has(name)) throw new Error(`Two tests of this suite have the title "${name}".`);
    this.#names.add(name);
    const title = reason === undefined ? name : `${name} (skipped: ${reason})`;
    test(title, { timeout: this.#timeout, skip: reason !== undefined }, run);
  }

  /** Registers a test that fails if `skip` names a test that the suite does not have. Call it after all other tests. */
  testOptOuts(): void {
    test('every title in `skip` is a test of this suite', () => {
      const unknown = [...this.#reasons.keys()].filter((name) => !this.#names.has(name));
      if (unknown.length === 0) return;
      throw new Error(
        `\`skip\` names tests that this suite does not have. Correct or remove: ${unknown.join('; ')}`,
      );
    });
  }
}
