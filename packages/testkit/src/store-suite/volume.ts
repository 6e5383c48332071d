import { SessionKey, userMessage } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of('s');

/** Size is no reason to fail. */
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
      // Compared by hand: a report of the difference would be as large as the message.
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
