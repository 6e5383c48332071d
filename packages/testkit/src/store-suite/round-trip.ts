import { SessionKey } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { everyHead, everyMessage, numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of({ tenantId: 't', userId: 'u', agentId: 'a', sessionId: 's' });

/** What is stored comes back as it was. */
export function roundTrip(suite: StoreSuite): void {
  describe('round trip', () => {
    suite.test('an absent session is undefined', async (store) => {
      expect(await store.load(key)).toBeUndefined();
    });

    suite.test('every block, field and character comes back, byte for byte', async (store) => {
      const messages = everyMessage();
      await commitAt(store, key, { expectedVersion: 0, head: everyHead, append: messages });
      const stored = await store.load(key);
      expect(stored?.head).toEqual(everyHead);
      expect(stored?.messages).toEqual(messages);
      // The order of fields too: it is part of the prompt, and of what a provider has cached.
      expect(JSON.stringify(stored?.messages)).toBe(JSON.stringify(messages));
    });

    suite.test('fields that are undefined are as good as absent', async (store) => {
      const [message] = numbered(1);
      const append = message === undefined ? [] : [{ ...message, kind: undefined, metadata: undefined }];
      await commitAt(store, key, { expectedVersion: 0, append });
      expect((await store.load(key))?.messages).toEqual([message]);
    });

    suite.test('a session may have no messages', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, head: { a: 1 } });
      expect(await store.load(key)).toMatchObject({ version: 1, head: { a: 1 }, messages: [] });
    });

    suite.test('the time of the last commit is told', async (store) => {
      const before = Date.now();
      await commitAt(store, key, { expectedVersion: 0, append: numbered(1) });
      const updatedAt = (await store.load(key))?.updatedAt ?? '';
      expect(new Date(updatedAt).toISOString()).toBe(updatedAt);
      // A backend's clock may differ from this machine's.
      expect(Math.abs(Date.parse(updatedAt) - before)).toBeLessThan(3_600_000);
    });
  });
}
