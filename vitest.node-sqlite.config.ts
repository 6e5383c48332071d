// What runs on SQLite again, through the driver that is in Node: its suites run on Node 22.16 and newer.
import { defineConfig } from 'vitest/config';
import { unit } from './tooling/vitest.js';

const suites = [
  'packages/core/test/lib/sqlite.test.ts',
  'packages/session-sqlite/test/**/*.test.ts',
  'packages/memory/test/memory-index.test.ts',
  'packages/memory/test/index/**/*.test.ts',
];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const hasDriver = major > 22 || (major === 22 && minor >= 16);

export default defineConfig({
  ...unit,
  test: {
    ...unit.test,
    name: 'node:sqlite',
    env: { X_SQLITE: 'node:sqlite' },
    include: hasDriver ? suites : ['tooling/without-node-sqlite.ts'],
  },
});
