import { SessionKey, SessionLeaseError, type SessionStore } from '@x/core';
import type { SessionLease } from '@x/core/store';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { numbered } from './sample-messages.js';
import { eventually, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const LONG = 600_000;
const SHORT = 50;

/** One holder at a time has a session's turn, and only the newest may write. */
export function leases(suite: StoreSuite): void {
  describe('leases', () => {
    // Long because it is a list of tests.
    suite.testLeases('one holder at a time has the lease, until it is released', async (store) => {
      const first = await granted(store, LONG);
      expect(await take(store, LONG)).toBeUndefined();
      await first.renew();
      expect(await take(store, LONG)).toBeUndefined();
      await first.release();
      const second = await granted(store, LONG);
      expect(second.fence).toBeGreaterThan(first.fence);
    });

    suite.testLeases('isLeased reports a lease, and takes none', async (store) => {
      const isLeased = (of = key) => store.isLeased?.(of);
      expect(await isLeased()).toBe(false);
      const first = await granted(store, LONG);
      expect(await Promise.all([isLeased(), isLeased()])).toEqual([true, true]);
      expect(await isLeased(SessionKey.of({ userId: 'u', sessionId: 'other' }))).toBe(false);
      await first.renew();
      await first.release();
      // Those who ask are in nobody's way, not even in one another's.
      for (let round = 0; round < 5; round++) {
        const [lease, ...told] = await Promise.all([take(store, LONG), isLeased(), isLeased()]);
        expect(lease).toBeDefined();
        expect(told.every((isHeld) => typeof isHeld === 'boolean')).toBe(true);
        await lease?.release();
        expect(await Promise.all([isLeased(), isLeased()])).toEqual([false, false]);
      }
      await granted(store, SHORT);
      await eventually(async () => ((await isLeased()) ? undefined : true));
    });

    suite.testLeases('of concurrent requests for a lease, one succeeds', async (store) => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => take(store, LONG)));
      expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
    });

    suite.testLeases('every session has its own lease', async (store) => {
      await granted(store, LONG);
      for (const other of [
        { sessionId: 's' },
        { userId: 'U', sessionId: 's' },
        { userId: 'u', sessionId: 'S' },
      ]) {
        expect(await take(store, LONG, SessionKey.of(other)), JSON.stringify(other)).toBeDefined();
      }
    });

    suite.testLeases('a lease does not create a session', async (store) => {
      const lease = await granted(store, LONG);
      expect(await store.load(key)).toBeUndefined();
      for await (const info of store.list()) expect(info).toBeUndefined();
      await lease.release();
      expect(await store.delete(key)).toBe(false);
    });

    suite.testLeases('a lease expires, and its old holder can neither renew nor write', async (store) => {
      const old = await granted(store, SHORT);
      expect(old.ttlMs).toBe(SHORT);
      await commitAt(store, key, { expectedVersion: 0, append: numbered(1), fence: old.fence });
      const next = await eventually(() => take(store, LONG));
      expect(next.fence).toBeGreaterThan(old.fence);
      const before = await store.load(key);
      for (const keep of [1, 0]) {
        const late = { expectedVersion: 1, head: {}, keep, append: numbered(1, 'late'), fence: old.fence };
        expect(await lossOf(commitAt(store, key, late))).toMatchObject({ sessionKey: key.toString() });
      }
      await lossOf(old.renew());
      await old.release();
      expect(await store.load(key)).toEqual(before);
      expect(await take(store, LONG)).toBeUndefined();
      const change = { expectedVersion: 1, head: {}, keep: 1, append: numbered(1, 'n'), fence: next.fence };
      expect(await commitAt(store, key, change)).toBe(2);
    });

    suite.testLeases('the holder of the newest lease can write and renew', async (store) => {
      const lease = await granted(store, LONG);
      for (let version = 0; version < 3; version++) {
        const change = { head: {}, keep: 0, append: numbered(1), fence: lease.fence };
        expect(await commitAt(store, key, { ...change, expectedVersion: version })).toBe(version + 1);
        await lease.renew();
      }
    });

    suite.testLeases('a lease does not stop writers without a fence', async (store) => {
      await granted(store, LONG);
      const change = { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) };
      expect(await commitAt(store, key, change)).toBe(1);
    });

    suite.testLeases(
      'fences grow across a deletion, so that an old holder cannot write to the new session',
      async (store) => {
        const old = await granted(store, LONG);
        await commitAt(store, key, { expectedVersion: 0, append: numbered(1), fence: old.fence });
        await store.delete(key);
        await old.release();
        const next = await eventually(() => take(store, LONG));
        expect(next.fence).toBeGreaterThan(old.fence);
        const late = {
          expectedVersion: 'latest',
          head: {},
          keep: 0,
          append: numbered(1),
          fence: old.fence,
        } as const;
        await lossOf(commitAt(store, key, late));
        expect(await store.load(key)).toBeUndefined();
      },
    );

    suite.testLeases(
      'after a deletion, the holder of the lease can neither renew nor write',
      async (store) => {
        const change = { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) };
        for (const commits of [[], [change]]) {
          const lease = await granted(store, LONG);
          for (const each of commits) await commitAt(store, key, { ...each, fence: lease.fence });
          expect(await store.delete(key)).toBe(commits.length > 0);
          expect(await store.isLeased?.(key)).toBe(false);
          await lossOf(lease.renew());
          await lossOf(commitAt(store, key, { ...change, fence: lease.fence }));
          expect(await store.load(key)).toBeUndefined();
        }
      },
    );

    suite.testLeases('releasing a lease twice, or after it was lost, does nothing', async (store) => {
      const first = await granted(store, LONG);
      await first.release();
      await first.release();
      await granted(store, LONG);
      await first.release();
      expect(await take(store, LONG)).toBeUndefined();
    });

    if (suite.options.reopen === undefined) return;
    suite.testLeases('other instances see a lease', async (first, reopen) => {
      const second = await reopen();
      const lease = await granted(first, LONG);
      expect(await take(second, LONG)).toBeUndefined();
      await lease.release();
      await granted(second, LONG);
      expect(await take(first, LONG)).toBeUndefined();
      const late = { expectedVersion: 0, head: {}, keep: 0, append: [], fence: lease.fence };
      await lossOf(commitAt(first, key, late));
    });
  });
}

function take(store: SessionStore, ttlMs: number, of = key): Promise<SessionLease | undefined> {
  return store.lease?.(of, { ttlMs }) ?? Promise.resolve(undefined);
}

async function granted(store: SessionStore, ttlMs: number): Promise<SessionLease> {
  const lease = await take(store, ttlMs);
  if (lease === undefined) throw new Error('The lease should have been granted.');
  return lease;
}

async function lossOf(operation: Promise<unknown>): Promise<SessionLeaseError> {
  const error = await errorOf(SessionLeaseError, operation);
  expect(error.code).toBe('lease_lost');
  return error;
}
