import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: ['packages/*', 'apps/*', 'tooling', 'tooling/test-support', 'vitest.node-sqlite.config.ts'],
    // By default one worker stays out of use, which on two cores is half of them: most tests wait for other processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**'],
      reporter: ['text-summary', 'lcov'],
      thresholds: { lines: 80 },
    },
  },
});
