import { SessionKey } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { numbered } from './sample-messages.js';
import { listed, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

/** What older releases wrote is read, and written on. */
export function migration(suite: StoreSuite): void {
  describe('migration', () => {
    suite.test('the head is carried, whatever its schema version', async (store) => {
      for (const [version, schemaVersion] of [0, 1, 99, 'next', null].entries()) {
        const head = { schemaVersion, unknown: [version] };
        await commitAt(store, key, { expectedVersion: version, head });
        expect((await store.load(key))?.head).toEqual(head);
      }
    });

    for (const [format, write] of Object.entries(suite.options.olderFormats ?? {})) {
      suite.test(
        `a session in the format ${format} is read, listed, written on and deleted`,
        async (store) => {
          const { version, head, messages } = await write(key);
          expect(await store.load(key)).toMatchObject({ version, head, messages });
          expect(await listed(store)).toEqual([key.toString()]);
          const change = {
            expectedVersion: version,
            head: { n: 1 },
            keep: messages.length,
            append: numbered(2, 'new'),
          };
          expect(await commitAt(store, key, change)).toBe(version + 1);
          expect(await store.load(key)).toMatchObject({
            head: { n: 1 },
            messages: [...messages, ...numbered(2, 'new')],
          });
          expect(await store.delete(key)).toBe(true);
          expect(await store.load(key)).toBeUndefined();
        },
      );
    }
  });
}
