import { type Message, SessionKey } from '@x/core';
import type { StoredSession } from '@x/core/store';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

/** Tests that callers and store share no objects, and sessions share no data. */
export function isolation(suite: StoreSuite): void {
  describe('isolation', () => {
    suite.test('mutating committed objects does not change the stored session', async (store) => {
      const head = { list: [1] };
      const append = numbered(2) as Mutable<Message>[];
      await commitAt(store, key, { expectedVersion: 0, head, append });
      head.list.push(2);
      for (const message of append) message.content = [];
      append.pop();
      expect(await store.load(key)).toMatchObject({ head: { list: [1] }, messages: numbered(2) });
    });

    suite.test('mutating a loaded session does not change the stored session', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, head: { list: [1] }, append: numbered(2) });
      spoil(await store.load(key));
      expect(await store.load(key)).toMatchObject({ head: { list: [1] }, messages: numbered(2) });
      await commitAt(store, key, { expectedVersion: 1, keep: 2, append: numbered(1, 'n') });
      expect((await store.load(key))?.messages).toEqual([...numbered(2), ...numbered(1, 'n')]);
    });
  });
}

function spoil(loaded: StoredSession | undefined): void {
  const { head, messages } = loaded as unknown as { head: { list: number[] }; messages: Mutable<Message>[] };
  head.list.push(2);
  for (const message of messages) message.content = [];
  messages.pop();
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Tests that two instances on the same data are consistent. */
export function instances(suite: StoreSuite): void {
  if (suite.options.reopen === undefined) return;
  describe('instances', () => {
    suite.testTwo('stored sessions are there after their instance is closed', async (first, second) => {
      await commitAt(first, key, { expectedVersion: 0, append: numbered(3) });
      await first.close();
      expect((await second.load(key))?.messages).toEqual(numbered(3));
    });
  });
}
