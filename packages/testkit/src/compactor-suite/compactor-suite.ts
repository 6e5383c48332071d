import type { Compactor } from '@x/core';
import { SuiteTests, type SuiteTestsOptions } from '../suite-tests.js';

export interface CompactorSuiteOptions extends SuiteTestsOptions {
  /** For the report. */
  readonly name: string;
  /** A new compactor. It is told the window with every call. */
  create(): Compactor | Promise<Compactor>;
  /** How many conversations each law is tried on; default 20. */
  readonly conversations?: number | undefined;
}

/** What the aspects of the suite register their tests with. */
export class CompactorSuite extends SuiteTests {
  /** The seeds of the conversations that each law is tried on. */
  readonly seeds: readonly number[];
  readonly #create: CompactorSuiteOptions['create'];

  constructor(options: CompactorSuiteOptions) {
    super(options);
    this.#create = () => options.create();
    this.seeds = Array.from({ length: options.conversations ?? 20 }, (_, index) => index + 1);
  }

  /** A test with a fresh compactor. */
  test(name: string, run: (compactor: Compactor) => Promise<void>): void {
    this.register(name, async () => run(await this.#create()));
  }
}
