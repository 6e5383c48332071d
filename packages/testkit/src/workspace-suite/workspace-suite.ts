import type { Workspace } from '@x/core';
import { SuiteTests } from '../suite-tests.js';

export interface WorkspaceSuiteOptions {
  /** For the report. */
  readonly name: string;
  /** An empty workspace of its own. */
  create(): Workspace | Promise<Workspace>;
  /**
   * Another workspace on the files of the last `create`, as a second process would open it. Without it the tests with
   * two instances are left out.
   */
  readonly reopen?: (() => Workspace | Promise<Workspace>) | undefined;
  /** For one test, in milliseconds; default 120 000. */
  readonly timeoutMs?: number | undefined;
}

/** What the aspects of the suite register their tests with. */
export class WorkspaceSuite extends SuiteTests {
  readonly #options: WorkspaceSuiteOptions;

  constructor(options: WorkspaceSuiteOptions) {
    super(options);
    this.#options = options;
  }

  /** A test with an empty workspace. */
  test(name: string, run: (workspace: Workspace) => Promise<void>): void {
    this.register(name, async () => run(await this.#options.create()));
  }

  /** A test with an empty workspace and a second one on the same files, where there can be one. */
  testTwo(name: string, run: (first: Workspace, second: Workspace) => Promise<void>): void {
    const { reopen } = this.#options;
    if (reopen !== undefined) this.test(name, async (first) => run(first, await reopen()));
  }
}
