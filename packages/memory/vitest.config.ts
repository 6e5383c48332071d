import { defineConfig } from 'vitest/config';
import { unitWith } from '../../tooling/vitest.js';

const config = unitWith('redis');

// No test changes what modules share, so the files share them: loading them anew would take as long as the tests.
export default defineConfig({ ...config, test: { ...config.test, isolate: false } });
