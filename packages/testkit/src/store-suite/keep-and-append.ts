import { InvalidInputError, SessionKey } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of('s');

/** The new list is the first `keep` stored messages, and what is appended. */
export function keepAndAppend(suite: StoreSuite): void {
  describe('keep and append', () => {
    for (const [keep, what] of [
      [0, 'nothing'],
      [1, 'one message'],
      [4, 'some messages'],
      [10, 'all messages'],
    ] as const) {
      for (const added of [0, 3]) {
        suite.test(`keeps ${what} and appends ${added}`, async (store) => {
          await commitAt(store, key, { expectedVersion: 0, head: { n: 1 }, append: numbered(10) });
          await commitAt(store, key, {
            expectedVersion: 1,
            head: { n: 2 },
            keep,
            append: numbered(added, 'n'),
          });
          const stored = await store.load(key);
          expect(stored?.messages).toEqual([...numbered(keep), ...numbered(added, 'n')]);
          expect(stored).toMatchObject({ version: 2, head: { n: 2 } });
        });
      }
    }

    suite.test('appends behind what an earlier cut left', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, append: numbered(10) });
      await commitAt(store, key, { expectedVersion: 1, keep: 5 });
      await commitAt(store, key, { expectedVersion: 2, keep: 5, append: numbered(2, 'n') });
      await commitAt(store, key, { expectedVersion: 3, keep: 6, append: numbered(1, 'o') });
      const expected = [...numbered(5), ...numbered(1, 'n'), ...numbered(1, 'o')];
      expect((await store.load(key))?.messages).toEqual(expected);
    });

    suite.test('the same message may stand there twice', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, append: numbered(2) });
      await commitAt(store, key, { expectedVersion: 1, keep: 2, append: numbered(2) });
      expect((await store.load(key))?.messages).toEqual([...numbered(2), ...numbered(2)]);
    });

    suite.test('to keep more than there is is refused, and changes nothing', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, head: { n: 1 }, append: numbered(3) });
      const before = await store.load(key);
      for (const expectedVersion of [1, 'latest'] as const) {
        const change = { expectedVersion, head: { n: 2 }, keep: 4, append: numbered(1, 'n') };
        await errorOf(InvalidInputError, commitAt(store, key, change));
      }
      expect(await store.load(key)).toEqual(before);
    });

    suite.test('to keep something of an absent session is refused', async (store) => {
      const change = { expectedVersion: 0, head: {}, keep: 1, append: numbered(1) };
      await errorOf(InvalidInputError, commitAt(store, key, change));
      expect(await store.load(key)).toBeUndefined();
    });
  });
}
