import { SessionConflictError, SessionKey } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { listed } from './listed.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

/** Two instances on the same data see the same. */
export function instances(suite: StoreSuite): void {
  if (suite.options.reopen === undefined) return;
  describe('instances', () => {
    suite.testTwo('one sees at once what the other commits and deletes', async (first, second) => {
      for (let version = 0; version < 4; version++) {
        const [writer, reader] = version % 2 === 0 ? [first, second] : [second, first];
        const append = numbered(1, `v${version}-`);
        await commitAt(writer, key, { expectedVersion: version, head: { version }, keep: version, append });
        const stored = await reader.load(key);
        expect(stored).toMatchObject({ version: version + 1, head: { version } });
        expect(stored?.messages.map(({ id }) => id)).toEqual(
          Array.from({ length: version + 1 }, (_, index) => `v${index}-0`),
        );
        expect(await listed(reader)).toEqual([key.toString()]);
      }
      expect(await second.delete(key)).toBe(true);
      expect(await first.load(key)).toBeUndefined();
      expect(await listed(first)).toEqual([]);
    });

    suite.testTwo('one cannot overwrite what the other committed', async (first, second) => {
      await commitAt(first, key, { expectedVersion: 0, append: numbered(1) });
      await commitAt(second, key, { expectedVersion: 1, keep: 1, append: numbered(1, 'n') });
      const late = commitAt(first, key, { expectedVersion: 1, keep: 1, append: numbered(1, 'o') });
      expect(await errorOf(SessionConflictError, late)).toMatchObject({ actualVersion: 2 });
      expect((await first.load(key))?.messages).toEqual([...numbered(1), ...numbered(1, 'n')]);
    });

    suite.testTwo('of commits through both at the same time, exactly one wins', async (first, second) => {
      for (let version = 0; version < 5; version++) {
        const commits = [first, second, first, second].map((store, writer) =>
          commitAt(store, key, { expectedVersion: version, head: { writer }, append: numbered(1) }),
        );
        const results = await Promise.allSettled(commits);
        expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect((await second.load(key))?.version).toBe(version + 1);
      }
    });

    suite.testTwo('what one has stored outlives its closing', async (first, second) => {
      await commitAt(first, key, { expectedVersion: 0, append: numbered(3) });
      await first.close();
      expect((await second.load(key))?.messages).toEqual(numbered(3));
    });
  });
}
