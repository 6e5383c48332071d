import { type Message, SessionKey, type StoredSession } from '@x/core';
import { describe, expect } from 'vitest';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of('s');

/** Callers and store share no objects. */
export function isolation(suite: StoreSuite): void {
  describe('isolation', () => {
    suite.test('changing what was committed does not change what is stored', async (store) => {
      const head = { list: [1] };
      const append = numbered(2) as Mutable<Message>[];
      await store.commit(key, { expectedVersion: 0, head, keep: 0, append });
      head.list.push(2);
      for (const message of append) message.content = [];
      append.pop();
      expect(await store.load(key)).toMatchObject({ head: { list: [1] }, messages: numbered(2) });
    });

    suite.test('changing what was loaded does not change what is stored', async (store) => {
      await store.commit(key, { expectedVersion: 0, head: { list: [1] }, keep: 0, append: numbered(2) });
      spoil(await store.load(key));
      expect(await store.load(key)).toMatchObject({ head: { list: [1] }, messages: numbered(2) });
    });

    suite.test('changing what was loaded does not change the next commit', async (store) => {
      await store.commit(key, { expectedVersion: 0, head: { list: [1] }, keep: 0, append: numbered(2) });
      spoil(await store.load(key));
      await store.commit(key, { expectedVersion: 1, head: {}, keep: 2, append: numbered(1, 'n') });
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
