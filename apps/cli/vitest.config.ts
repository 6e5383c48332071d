import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { together, unitWith } from '../../tooling/vitest.js';

const { test, ...config } = together(unitWith('redis', 'mariadb', 'postgres', 'bubblewrap'));
const support = (file: string) => fileURLToPath(new URL(`test/support/${file}`, import.meta.url));

export default defineConfig({
  ...config,
  test: {
    ...test,
    // `npx vitest` sets `npm_command`, which would change every hint to `npx x`.
    env: { npm_command: '' },
    globalSetup: [...(test?.globalSetup ?? []), support('build.ts')],
    setupFiles: [...[test?.setupFiles ?? []].flat(), support('home.ts')],
  },
});
