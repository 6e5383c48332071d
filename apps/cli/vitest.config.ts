import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { unitWith } from '../../tooling/vitest.js';

const { test, ...config } = unitWith('redis', 'mariadb', 'postgres');
const builds = fileURLToPath(new URL('test/support/build.ts', import.meta.url));

export default defineConfig({
  ...config,
  test: { ...test, globalSetup: [...(test?.globalSetup ?? []), builds] },
});
