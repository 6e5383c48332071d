import { SessionKey, userMessage } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { everyHead, everyMessage, numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of({ tenantId: 't', userId: 'u', agentId: 'a', sessionId: 's' });

/** Tests that stored data is loaded unchanged. */
export function roundTrip(suite: StoreSuite): void {
  describe('round trip', () => {
    suite.test('every block, field and character comes back, byte for byte', async (store) => {
      const messages = everyMessage();
      await commitAt(store, key, { expectedVersion: 0, head: everyHead, append: messages });
      const stored = await store.load(key);
      expect(stored?.head).toEqual(everyHead);
      expect(stored?.messages).toEqual(messages);
      // The order of fields matters too: it is part of the prompt, and of what a provider has cached.
      expect(JSON.stringify(stored?.messages)).toBe(JSON.stringify(messages));
    });

    suite.test('a field that is undefined is stored as absent', async (store) => {
      const [message] = numbered(1);
      const append = message === undefined ? [] : [{ ...message, kind: undefined, metadata: undefined }];
      await commitAt(store, key, { expectedVersion: 0, append });
      expect((await store.load(key))?.messages).toEqual([message]);
    });

    suite.test('a session has the time of its last commit', async (store) => {
      const before = Date.now();
      await commitAt(store, key, { expectedVersion: 0, append: numbered(1) });
      const updatedAt = (await store.load(key))?.updatedAt ?? '';
      expect(new Date(updatedAt).toISOString()).toBe(updatedAt);
      // A backend's clock may differ from this machine's.
      expect(Math.abs(Date.parse(updatedAt) - before)).toBeLessThan(3_600_000);
    });
  });
}

/** Tests large messages and long conversations. */
export function volume(suite: StoreSuite): void {
  const { manyMessages = 10_000 } = suite.options;
  describe('volume', () => {
    suite.test('a very large message', async (store) => {
      const piece = 'é漢🦀 "\\\n';
      const text = piece.repeat(Math.ceil(suite.largePayloadBytes / Buffer.byteLength(piece)));
      const message = userMessage(text, { id: 'large' });
      await commitAt(store, key, { expectedVersion: 0, append: [message] });
      await commitAt(store, key, { expectedVersion: 1, keep: 1, append: numbered(1) });
      const stored = await store.load(key);
      // Compared as a boolean, because a diff in the failure message would be as large as the message.
      expect(JSON.stringify(stored?.messages) === JSON.stringify([message, ...numbered(1)])).toBe(true);
    });

    suite.test('a very long conversation', async (store) => {
      const messages = numbered(manyMessages);
      const batch = Math.ceil(messages.length / 10);
      let version = 0;
      for (let keep = 0; keep < messages.length; keep += batch) {
        const append = messages.slice(keep, keep + batch);
        version = await commitAt(store, key, { expectedVersion: version, keep, append });
      }
      expect((await store.load(key))?.messages).toEqual(messages);

      const keep = Math.floor(messages.length / 2) + 1;
      await commitAt(store, key, { expectedVersion: version, keep, append: numbered(1, 'n') });
      expect((await store.load(key))?.messages).toEqual([...messages.slice(0, keep), ...numbered(1, 'n')]);
    });

    suite.test('a very long conversation in one commit', async (store) => {
      const append = numbered(manyMessages);
      await commitAt(store, key, { expectedVersion: 0, append });
      expect((await store.load(key))?.messages).toEqual(append);
    });
  });
}
