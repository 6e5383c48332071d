import { SessionKey } from '@x/core';
import { expect, it, vi } from 'vitest';
import { SqliteSession } from '../src/index.js';

it('says why SQLite cannot be loaded, and what to do', async () => {
  vi.stubEnv('X_SQLITE', 'neither');
  const load = async () => new SqliteSession({ file: ':memory:' }).load(SessionKey.of('s'));
  await expect(load()).rejects.toMatchObject({
    name: 'SessionStoreError',
    code: 'session_unavailable',
    outcome: 'none',
    cause: { code: 'sqlite_missing' },
    message: expect.stringMatching(/Use Node 22\.16 or newer, or run: npm install better-sqlite3@12/),
  });
  vi.unstubAllEnvs();
});
