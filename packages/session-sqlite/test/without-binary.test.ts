import { SessionKey } from '@x/core';
import { expect, it, vi } from 'vitest';
import { SqliteSession } from '../src/index.js';

vi.mock('better-sqlite3', () => ({
  default: class {
    constructor() {
      throw new Error('Could not locate the bindings file. Tried:\n → /a/build/better_sqlite3.node\n → /b');
    }
  },
}));

it('says what to do where the driver has no binary, and not where it looked for one', async () => {
  const load = async () => new SqliteSession({ file: '/nowhere/x.db' }).load(SessionKey.of('s'));
  const error = (await load().catch((thrown: unknown) => thrown)) as Error;
  expect(error).toMatchObject({ name: 'SessionStoreError', code: 'session_unavailable' });
  expect(error.message).toContain('npm rebuild better-sqlite3');
  expect(error.message).not.toContain('/a/build');
});
