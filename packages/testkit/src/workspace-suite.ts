import { describe } from 'vitest';
import { appending } from './workspace-suite/appending.js';
import { deletion } from './workspace-suite/deletion.js';
import { files } from './workspace-suite/files.js';
import { listing } from './workspace-suite/listing.js';
import { locks } from './workspace-suite/locks.js';
import { paths } from './workspace-suite/paths.js';
import { ranges } from './workspace-suite/ranges.js';
import { WorkspaceSuite, type WorkspaceSuiteOptions } from './workspace-suite/workspace-suite.js';

const ASPECTS = [files, ranges, appending, listing, deletion, paths, locks];

/**
 * Registers, with vitest, the tests that every `Workspace` must pass. Call it at the top of a test file.
 *
 * ```ts
 * workspaceSuite({ name: 'RedisWorkspace', create: () => new RedisWorkspace({ client, keyPrefix: nextPrefix() }) });
 * ```
 */
export function workspaceSuite(options: WorkspaceSuiteOptions): void {
  describe(`Workspace: ${options.name}`, () => {
    const suite = new WorkspaceSuite(options);
    for (const aspect of ASPECTS) aspect(suite);
  });
}
