import {
  copyStore,
  deleteOlderThan,
  eraseUser,
  exportUser,
  InMemorySession,
  SessionKey,
  type SessionStore,
  SessionStoreError,
} from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { numbered } from './sample-messages.js';
import { listed, noFiles, type StoreSuite } from './store-suite.js';

const user = { userId: 'alice' };
const [first, damaged, last] = ['a', 'b', 'c'].map((sessionId) => SessionKey.of({ ...user, sessionId })) as [
  SessionKey,
  SessionKey,
  SessionKey,
];
const UNREADABLE = expect.stringMatching(/^session_(corrupt|older|newer)$/);

/** Tests that a damaged session is reported and does not hide other sessions. */
export function damage(suite: StoreSuite): void {
  // Long because it is a list of tests.
  const { damage: damageOf } = suite.options;
  if (damageOf === undefined) return;
  const test = (name: string, run: (store: SessionStore) => Promise<void>) =>
    suite.test(name, async (store) => {
      for (const key of [first, damaged, last])
        await commitAt(store, key, { expectedVersion: 0, append: numbered(1) });
      await damageOf(damaged);
      await run(store);
    });
  const isReported = async (task: Promise<unknown>) =>
    expect(await errorOf(SessionStoreError, task)).toMatchObject({ code: UNREADABLE });
  describe('damage', () => {
    test('is never taken for an empty session', async (store) => {
      await isReported(store.load(damaged));
      await isReported(store.load(damaged, { last: 0 }));
      const begun = commitAt(store, damaged, { expectedVersion: 0, append: numbered(1) });
      await expect(begun).rejects.toBeInstanceOf(Error);
    });

    test('is reported by a listing after all others', async (store) => {
      for (const scope of [{}, user]) {
        const keys: string[] = [];
        const listing = async () => {
          for await (const { key } of store.list(scope)) keys.push(`${key}`);
        };
        await isReported(listing());
        expect(keys.sort()).toEqual([`${first}`, `${last}`]);
      }
    });

    test('is deleted with its session', async (store) => {
      await store.delete(damaged);
      expect(await store.load(damaged)).toBeUndefined();
      expect(await listed(store)).toEqual([`${first}`, `${last}`]);
    });

    test('is reported by a copy of all others', async (store) => {
      const target = new InMemorySession();
      await isReported(copyStore(store, target));
      expect(await listed(target)).toEqual([`${first}`, `${last}`]);
    });

    test('is reported by an export of all others', async (store) => {
      const keys: string[] = [];
      const read = async () => {
        for await (const record of exportUser({ session: store, storage: noFiles }, user))
          if (record.type === 'session') keys.push(`${SessionKey.of(record.key)}`);
      };
      await isReported(read());
      expect(keys.sort()).toEqual([`${first}`, `${last}`]);
    });

    test('is kept by a retention, which deletes all others', async (store) => {
      const olderThan = new Date(Date.now() + 60_000);
      const answer = await deleteOlderThan(store, { olderThan }).catch((error: unknown) => error);
      // A listing by time cannot report a session whose time is damaged.
      if (answer !== 2) expect(answer).toMatchObject({ code: UNREADABLE });
      await isReported(store.load(damaged));
      await store.delete(damaged);
      expect(await listed(store)).toEqual([]);
    });

    test('is reported or erased with the user, as all others are', async (store) => {
      const answer = await eraseUser({ session: store, storage: noFiles }, user).catch(
        (error: unknown) => error,
      );
      const isLeft = await store.load(damaged).catch((error: unknown) => error);
      if (isLeft !== undefined) expect(answer).toMatchObject({ code: UNREADABLE });
      for (const key of [first, last]) expect(await store.load(key)).toBeUndefined();
    });
  });
}
