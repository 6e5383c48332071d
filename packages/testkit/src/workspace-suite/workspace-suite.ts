import type { Workspace } from '@x/core';
import { SuiteTests, type SuiteTestsOptions } from '../suite-tests.js';

/** Options of `workspaceSuite`. */
export interface WorkspaceSuiteOptions extends SuiteTestsOptions {
  /** Printed in the title of the suite. */
  readonly name: string;
  /** Opens a workspace on a new, empty area. Called once for each test. */
  create(): Workspace | Promise<Workspace>;
  /**
   * Opens a second workspace on the area of the last `create`, as another process would. Without it, the tests with two
   * instances are not registered.
   */
  readonly reopen?: (() => Workspace | Promise<Workspace>) | undefined;
}

/** Registers the tests of the suite. */
export class WorkspaceSuite extends SuiteTests {
  readonly #options: WorkspaceSuiteOptions;

  constructor(options: WorkspaceSuiteOptions) {
    super(options);
    this.#options = options;
  }

  /** Registers a test with an empty workspace. */
  test(name: string, run: (workspace: Workspace) => Promise<void>): void {
    this.register(name, async () => run(await this.#options.create()));
  }

  /** Registers a test with an empty workspace and a second one on the same files. */
  testTwo(name: string, run: (first: Workspace, second: Workspace) => Promise<void>): void {
    const { reopen } = this.#options;
    if (reopen !== undefined) this.test(name, async (first) => run(first, await reopen()));
  }
}
