import { SessionKey } from '@x/core';
import { commitAt } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { collect, messages, testStore } from './support/test-store.js';

const add = { expectedVersion: 'latest', head: {}, keep: 0, append: messages(1) } as const;

describe('list', () => {
  it('gives version and time, newest first within a user', async () => {
    const { client, keyPrefix, store } = testStore();
    const ids = Array.from({ length: 450 }, (_, index) => `s-${index}`);
    for (const sessionId of ids) await commitAt(store, SessionKey.of({ userId: 'alice', sessionId }), add);
    await commitAt(store, SessionKey.of({ userId: 'alice', sessionId: 's-7' }), add);
    await client.hset(`${keyPrefix}{/alice}:session:/s-7`, 'updatedAt', Date.now() + 60_000);
    const infos = await collect(store.list({ userId: 'alice' }));
    expect(infos).toHaveLength(450);
    expect(infos[0]).toMatchObject({ version: 2, updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(infos[0]?.key.parts.sessionId).toBe('s-7');
    const times = infos.map(({ updatedAt }) => updatedAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  it('pages through many users', async () => {
    const { store } = testStore();
    const ids = Array.from({ length: 550 }, (_, index) => `user-${index}`);
    await Promise.all(ids.map((userId) => commitAt(store, SessionKey.of({ userId, sessionId: 's' }), add)));
    const found = (await collect(store.list())).map(({ key }) => key.parts.userId);
    expect(found.sort()).toEqual(ids.sort());
  });

  it('forgets a user whose sessions have all expired, and finds the next one', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 60 });
    const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
    await commitAt(store, key, add);
    for (const part of ['session:/s', 'messages:/s', 'index'])
      await client.del(`${keyPrefix}{/alice}:${part}`);
    expect(await collect(store.list())).toEqual([]);
    expect(await client.keys(`${keyPrefix}*`)).toEqual([]);
    await commitAt(store, key, add);
    expect(await collect(store.list())).toHaveLength(1);
  });

  it('is repaired by the next commit when a crash kept a user from being listed', async () => {
    const { client, keyPrefix, store } = testStore();
    const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
    await commitAt(store, key, add);
    await client.del(`${keyPrefix}shards`, `${keyPrefix}{/alice}:listed`);
    expect(await collect(store.list())).toEqual([]);
    await commitAt(store, key, add);
    expect(await collect(store.list())).toHaveLength(1);
  });

  it('loses no user to commits, deletes and listings at the same time', async () => {
    const { store } = testStore();
    const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
    for (let round = 0; round < 50; round++) {
      await Promise.all([
        store.delete(key),
        commitAt(store, key, add),
        collect(store.list()),
        store.delete(key),
      ]);
      await Promise.all([commitAt(store, key, add), collect(store.list()), collect(store.list())]);
      expect(await collect(store.list())).toHaveLength(1);
    }
  });
});
