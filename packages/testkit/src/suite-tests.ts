import { type TestContext, test } from 'vitest';

/** Tests that an implementation does not pass, and why. */
export interface SuiteOptOut {
  readonly reason: string;
  /** The exact names of the tests. */
  readonly tests: readonly string[];
}

export interface SuiteTestsOptions {
  readonly skip?: readonly SuiteOptOut[] | undefined;
  /** For one test, in milliseconds; default 120 000. */
  readonly timeoutMs?: number | undefined;
}

/** Registers the tests of a suite, but for those that its options leave out. */
export class SuiteTests {
  readonly #reasons: ReadonlyMap<string, string>;
  readonly #names = new Set<string>();
  readonly #timeout: number;

  constructor({ skip = [], timeoutMs = 120_000 }: SuiteTestsOptions) {
    this.#reasons = new Map(skip.flatMap(({ reason, tests }) => tests.map((name) => [name, reason])));
    this.#timeout = timeoutMs;
  }

  protected register(name: string, run: (context: Pick<TestContext, 'skip'>) => Promise<void>): void {
    const reason = this.#reasons.get(name);
    if (this.#names.has(name)) throw new Error(`Two tests are named "${name}".`);
    this.#names.add(name);
    const title = reason === undefined ? name : `${name} (left out: ${reason})`;
    test(title, { timeout: this.#timeout, skip: reason !== undefined }, run);
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
