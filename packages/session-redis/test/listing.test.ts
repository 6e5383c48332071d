import { SessionKey } from '@x/core';
import { commitAt } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { keysOf } from '../src/redis-keys.js';
import { collect, messages, testStore } from './support/test-store.js';

const add = { expectedVersion: 'latest', head: {}, keep: 0, append: messages(1) } as const;
const alice = { userId: 'alice' };

describe('list', () => {
  it('merges users and sessions without one by time, over more than a page', async () => {
    const { store } = testStore();
    const keys = Array.from({ length: 450 }, (_, index) =>
      SessionKey.of(
        index % 3 === 0 ? `s-${index}` : { userId: `user-${index % 50}`, sessionId: `s-${index}` },
      ),
    );
    await Promise.all(keys.map((key) => commitAt(store, key, add)));
    const infos = await collect(store.list());
    expect(infos.map(({ key }) => `${key}`).sort()).toEqual(keys.map(String).sort());
    const times = infos.map(({ updatedAt }) => updatedAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  it('reads a page in requests whose number does not grow with the sessions', async () => {
    const { client, store } = testStore();
    const commands = async () =>
      Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1]);
    const cost = async (sessions: number) => {
      for (let index = 0; index < sessions; index++) {
        await commitAt(store, SessionKey.of({ ...alice, sessionId: `${sessions}-${index}` }), add);
      }
      const before = await commands();
      expect(await collect(store.list(alice, { limit: 10 }))).toHaveLength(10);
      return (await commands()) - before;
    };
    const few = await cost(20);
    expect(await cost(300)).toBeLessThanOrEqual(few + 2);
  });

  it('takes out what has expired, and leaves nothing behind when all has', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 60 });
    const [first, second] = ['s-1', 's-2'].map((sessionId) => SessionKey.of({ ...alice, sessionId }));
    for (const key of [first, second]) await commitAt(store, key as SessionKey, add);
    const { session, messages: list, indexes } = keysOf(keyPrefix, first as SessionKey);
    await client.del(session, list);
    expect((await collect(store.list())).map(({ key }) => `${key}`)).toEqual([`${second}`]);
    for (const index of indexes) expect(await client.zrange(index, 0, '-1')).toEqual([`${second}`]);
    await store.delete(second as SessionKey);
    expect(await client.keys(`${keyPrefix}*`)).toEqual([]);
  });

  it('loses no user to commits, deletes and listings at the same time', async () => {
    const { store } = testStore();
    const key = SessionKey.of({ ...alice, sessionId: 's' });
    for (let round = 0; round < 20; round++) {
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
