import { expect, it, vi } from 'vitest';
import { MemoryIndex } from '../../src/index.js';

it('says why SQLite cannot be loaded, and what to do', async () => {
  vi.stubEnv('X_SQLITE', 'neither');
  await expect(MemoryIndex.open(':memory:')).rejects.toMatchObject({
    name: 'MemoryIndexError',
    cause: { code: 'sqlite_missing' },
    message: expect.stringMatching(/Use Node 22\.16 or newer, or run: npm install better-sqlite3@12/),
  });
  vi.unstubAllEnvs();
});
