import { describe } from 'vitest';
import { deletion, listing, paths } from './workspace-suite/directories.js';
import { appending, files, locks, ranges } from './workspace-suite/files.js';
import { WorkspaceSuite, type WorkspaceSuiteOptions } from './workspace-suite/workspace-suite.js';

const ASPECTS = [files, ranges, appending, listing, deletion, paths, locks];

/**
 * Registers the tests that every `Workspace` must pass, with Vitest. Call it at the top level of a test file.
 *
 * ```ts
 * workspaceSuite({ name: 'RedisWorkspace', create: () => new RedisWorkspace({ client, keyPrefix: nextPrefix() }) });
 * ```
 */
export function workspaceSuite(options: WorkspaceSuiteOptions): void {
  describe(`Workspace: ${options.name}`, () => {
    const suite = new WorkspaceSuite(options);
    for (const aspect of ASPECTS) aspect(suite);
    suite.testOptOuts();
  });
}
