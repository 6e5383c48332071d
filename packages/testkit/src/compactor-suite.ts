import { describe } from 'vitest';
import { chains } from './compactor-suite/chains.js';
import { CompactorSuite, type CompactorSuiteOptions } from './compactor-suite/compactor-suite.js';
import { singleRuns } from './compactor-suite/single-runs.js';

const ASPECTS = [singleRuns, chains];

/**
 * Registers, with vitest, the tests that every `Compactor` must pass. Call it at the top of a test file.
 *
 * ```ts
 * compactorSuite({ name: 'without a model', create: () => createCompactor() });
 * ```
 */
export function compactorSuite(options: CompactorSuiteOptions): void {
  describe(`Compactor: ${options.name}`, () => {
    const suite = new CompactorSuite(options);
    for (const aspect of ASPECTS) aspect(suite);
    suite.testOptOuts();
  });
}
