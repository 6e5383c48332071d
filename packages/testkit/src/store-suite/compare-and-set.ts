import { SessionConflictError, SessionKey } from '@x/core';
import { describe, expect } from 'vitest';
import { conflictOf } from './conflict-of.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const WRITERS = 10;

/** A commit happens only on the version that it was made for. */
export function compareAndSet(suite: StoreSuite): void {
  describe('compare and set', () => {
    suite.test('versions count from 1', async (store) => {
      const change = { head: {}, keep: 0, append: numbered(1) };
      expect(await store.commit(key, { ...change, expectedVersion: 0 })).toBe(1);
      expect(await store.commit(key, { ...change, expectedVersion: 1 })).toBe(2);
      expect(await store.commit(key, { ...change, expectedVersion: 2 })).toBe(3);
      expect((await store.load(key))?.version).toBe(3);
    });

    suite.test('expecting no session fails when there is one', async (store) => {
      await store.commit(key, { expectedVersion: 0, head: {}, keep: 0, append: [] });
      const again = store.commit(key, { expectedVersion: 0, head: {}, keep: 0, append: [] });
      expect(await conflictOf(again)).toMatchObject({
        sessionKey: key.toString(),
        expectedVersion: 0,
        actualVersion: 1,
      });
    });

    suite.test('expecting a session fails when there is none', async (store) => {
      const early = store.commit(key, { expectedVersion: 1, head: {}, keep: 0, append: [] });
      expect(await conflictOf(early)).toMatchObject({ expectedVersion: 1, actualVersion: 0 });
      expect(await store.load(key)).toBeUndefined();
    });

    suite.test('an old version and one yet to come both fail', async (store) => {
      await store.commit(key, { expectedVersion: 0, head: {}, keep: 0, append: [] });
      await store.commit(key, { expectedVersion: 1, head: {}, keep: 0, append: [] });
      for (const expectedVersion of [1, 3]) {
        const commit = store.commit(key, { expectedVersion, head: {}, keep: 0, append: [] });
        expect(await conflictOf(commit)).toMatchObject({ expectedVersion, actualVersion: 2 });
      }
    });

    suite.test('a failed commit leaves everything as it was', async (store) => {
      await store.commit(key, { expectedVersion: 0, head: { a: 1 }, keep: 0, append: numbered(3) });
      const before = await store.load(key);
      await conflictOf(
        store.commit(key, { expectedVersion: 7, head: { a: 2 }, keep: 0, append: numbered(9, 'n') }),
      );
      expect(await store.load(key)).toEqual(before);
    });

    suite.test('any version creates and replaces', async (store) => {
      const change = { expectedVersion: 'any', head: {}, keep: 0 } as const;
      expect(await store.commit(key, { ...change, append: numbered(2) })).toBe(1);
      expect(await store.commit(key, { ...change, append: numbered(1, 'n') })).toBe(2);
      expect((await store.load(key))?.messages).toEqual(numbered(1, 'n'));
    });

    suite.test('of writers at the same time, exactly one wins each version', async (store) => {
      for (let version = 0; version < 3; version++) {
        const commits = Array.from({ length: WRITERS }, (_, writer) => {
          const append = numbered(1, `v${version}-w${writer}-`);
          return store.commit(key, { expectedVersion: version, head: { writer }, keep: version, append });
        });
        const results = await Promise.allSettled(commits);
        const winners = results.flatMap((result, index) => (result.status === 'fulfilled' ? [index] : []));
        expect(winners).toHaveLength(1);
        for (const result of results) {
          if (result.status === 'rejected') expect(SessionConflictError.isInstance(result.reason)).toBe(true);
        }
        const stored = await store.load(key);
        expect(stored).toMatchObject({ version: version + 1, head: { writer: winners[0] } });
        expect(stored?.messages).toHaveLength(version + 1);
        expect(stored?.messages.at(-1)?.id).toBe(`v${version}-w${winners[0]}-0`);
      }
    });

    suite.test('writers that retry lose no turn', async (store) => {
      await Promise.all(
        Array.from({ length: WRITERS }, async (_, writer) => {
          for (;;) {
            const stored = await store.load(key);
            const commit = store.commit(key, {
              expectedVersion: stored?.version ?? 0,
              head: {},
              keep: stored?.messages.length ?? 0,
              append: numbered(1, `w${writer}-`),
            });
            if ((await commit.catch(ignoreConflict)) !== undefined) return;
          }
        }),
      );
      const ids = (await store.load(key))?.messages.map(({ id }) => id).sort();
      expect(ids).toEqual(Array.from({ length: WRITERS }, (_, writer) => `w${writer}-0`).sort());
    });
  });
}

function ignoreConflict(error: unknown): undefined {
  if (!SessionConflictError.isInstance(error)) throw error;
}
