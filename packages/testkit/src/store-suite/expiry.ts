import { SessionKey } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { numbered } from './sample-messages.js';
import { eventually, listed, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const other = SessionKey.of({ userId: 'u', sessionId: 'other' });

/** Tests for stores whose sessions expire. */
export function expiry(suite: StoreSuite): void {
  const { expiry: options } = suite.options;
  if (options === undefined) return;
  describe('expiry', () => {
    suite.test('every commit restarts the time', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, append: numbered(1) });
      expect(await options.remainingMs(key)).toSatisfy(isUpTo(options.ttlMs));
      const short = options.ttlMs / 2;
      await options.expireIn(key, short);
      expect(await options.remainingMs(key)).toSatisfy(isUpTo(short));
      await commitAt(store, key, { expectedVersion: 1, keep: 1, append: numbered(1, 'n') });
      const remaining = await options.remainingMs(key);
      expect(remaining).toBeGreaterThan(short);
      expect(remaining).toSatisfy(isUpTo(options.ttlMs));
    });

    suite.test('a session expires as a whole, and begins again at version 1', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, head: { old: true }, append: numbered(5) });
      await commitAt(store, other, { expectedVersion: 0, append: numbered(1) });
      await options.expireIn(key, 1);
      await eventually(async () => ((await store.load(key)) === undefined ? true : undefined));
      expect(await listed(store)).toEqual([other.toString()]);
      expect(await store.delete(key)).toBe(false);
      const change = { expectedVersion: 0, head: { old: false }, keep: 0, append: numbered(1, 'n') };
      expect(await commitAt(store, key, change)).toBe(1);
      expect(await store.load(key)).toMatchObject({ head: { old: false }, messages: numbered(1, 'n') });
      expect(await store.load(other)).toMatchObject({ version: 1, messages: numbered(1) });
    });
  });
}

function isUpTo(bound: number): (value: number) => boolean {
  return (value) => value > 0 && value <= bound;
}
