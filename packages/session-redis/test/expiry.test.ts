import { SessionKey } from '@x/core';
import { commitAt } from '@x/testkit';
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { RedisSession } from '../src/index.js';
import { collect, messages, testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const other = SessionKey.of({ userId: 'alice', sessionId: 's-2' });
const hour = 3_600_000;
const add = { expectedVersion: 'latest', head: {}, keep: 0, append: messages(1) } as const;

describe('expiry', () => {
  it('is set on every key of a session and renewed by a commit', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 3_600 });
    const keys = [`${keyPrefix}{/alice}:session:/s-1`, `${keyPrefix}{/alice}:messages:/s-1`];
    await commitAt(store, key, add);
    for (const name of keys) await client.pexpire(name, 5_000);
    await commitAt(store, key, add);
    for (const name of keys) {
      const left = await client.pttl(name);
      expect(left).toBeGreaterThan(hour - 60_000);
      expect(left).toBeLessThanOrEqual(hour);
    }
    expect(await client.pttl(`${keyPrefix}{/alice}:index`)).toBeGreaterThan(hour);
  });

  it('moves the place in the index only when that no longer covers the session', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 3_600 });
    const index = `${keyPrefix}{/alice}:index`;
    await commitAt(store, key, add);
    const first = Number(await client.zscore(index, '/s-1'));
    await commitAt(store, key, add);
    expect(Number(await client.zscore(index, '/s-1'))).toBe(first);
    // As if most of the hour had gone by since.
    await client.zadd(index, first - hour, '/s-1');
    await client.hset(`${keyPrefix}{/alice}:session:/s-1`, 'expires', first - hour);
    await commitAt(store, key, add);
    expect(Number(await client.zscore(index, '/s-1'))).toBeGreaterThanOrEqual(first);
  });

  it('is taken off by a store without one', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 3_600 });
    await commitAt(store, key, add);
    await commitAt(new RedisSession({ client, keyPrefix }), key, add);
    expect(await lifetimes(client, keyPrefix)).toEqual([-1, -1, -1]);
  });

  it('leaves the index to the session that lives longest', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 3_600 });
    await commitAt(store, key, add);
    await commitAt(new RedisSession({ client, keyPrefix, ttlSeconds: 60 }), other, add);
    expect(await client.pttl(`${keyPrefix}{/alice}:index`)).toBeGreaterThan(60_000);
    await commitAt(new RedisSession({ client, keyPrefix }), other, add);
    expect(await client.pttl(`${keyPrefix}{/alice}:index`)).toBe(-1);
  });

  it('takes a session out of the listing', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 3_600 });
    await commitAt(store, key, add);
    await commitAt(store, other, add);
    await client.del(`${keyPrefix}{/alice}:session:/s-1`, `${keyPrefix}{/alice}:messages:/s-1`);
    expect((await collect(store.list())).map((info) => `${info.key}`)).toEqual([`${other}`]);
    expect(await client.zrange(`${keyPrefix}{/alice}:index`, 0, '-1')).toEqual(['/s-2']);
  });

  it('lets the next commit sweep what has expired from the index', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 3_600 });
    await client.zadd(`${keyPrefix}{/alice}:index`, Date.now() - 1_000, '/s-2');
    await commitAt(store, key, add);
    expect(await client.zrange(`${keyPrefix}{/alice}:index`, 0, '-1')).toEqual(['/s-1']);
  });
});

async function lifetimes(client: Redis, keyPrefix: string) {
  const names = ['session:/s-1', 'messages:/s-1', 'index'].map((name) => `${keyPrefix}{/alice}:${name}`);
  return Promise.all(names.map((name) => client.pttl(name)));
}
