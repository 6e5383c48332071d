import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { together, unitWith } from '../../tooling/vitest.js';

const base = together(unitWith('chromium', 'redis'));
const buildPage = fileURLToPath(new URL('test/web/build-page.ts', import.meta.url));

export default defineConfig({
  ...base,
  test: { ...base.test, globalSetup: [...(base.test?.globalSetup ?? []), buildPage] },
});
