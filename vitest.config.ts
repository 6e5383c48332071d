import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: ['packages/*', 'apps/*', 'tooling', 'tooling/test-support', 'vitest.node-sqlite.config.ts'],
    // More workers than cores, because most tests wait for timers, servers and other processes.
    maxWorkers: availableParallelism() + 2,
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**'],
      reporter: ['text-summary', 'lcov'],
      thresholds: { lines: 80 },
    },
  },
});
