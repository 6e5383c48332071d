import { defineConfig } from 'vitest/config';
import { unit } from '../../../../tooling/vitest.js';

/** Runs the suite over models and workspaces that must not pass it. */
export default defineConfig({
  ...unit,
  test: { include: ['*.suite.ts'], root: import.meta.dirname, cache: false },
});
