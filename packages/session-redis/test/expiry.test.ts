import { SessionKey } from '@x/core';
import { commitAt } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { RedisSession } from '../src/index.js';
import { keysOf } from '../src/redis-keys.js';
import { messages, testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const other = SessionKey.of({ userId: 'alice', sessionId: 's-2' });
const hour = 3_600_000;
const add = { expectedVersion: 'latest', head: {}, keep: 0, append: messages(1) } as const;

describe('expiry', () => {
  it('is set on every key of a session and renewed by a commit', async () => {
    const { client, store, names } = named({ ttlSeconds: 3_600 });
    await commitAt(store, key, add);
    for (const name of names) await client.pexpire(name, 5_000);
    await commitAt(store, key, add);
    for (const left of await Promise.all(names.map((name) => client.pttl(name)))) {
      expect(left).toBeGreaterThan(hour - 60_000);
      expect(left).toBeLessThanOrEqual(hour);
    }
  });

  it('is taken off by a store without one', async () => {
    const { client, keyPrefix, store, names } = named({ ttlSeconds: 3_600 });
    await commitAt(store, key, add);
    await commitAt(new RedisSession({ client, keyPrefix }), key, add);
    for (const name of names) expect(await client.pttl(name), name).toBe(-1);
  });

  it('leaves the indexes to the session that lives longest', async () => {
    const { client, keyPrefix, store, indexes } = named({ ttlSeconds: 3_600 });
    await commitAt(store, key, add);
    await commitAt(new RedisSession({ client, keyPrefix, ttlSeconds: 60 }), other, add);
    for (const index of indexes) expect(await client.pttl(index)).toBeGreaterThan(60_000);
    await commitAt(new RedisSession({ client, keyPrefix }), other, add);
    await commitAt(store, key, add);
    for (const index of indexes) expect(await client.pttl(index)).toBe(-1);
  });

  it('lets the next new session sweep from the indexes what none can have survived', async () => {
    const { client, store, indexes } = named({ ttlSeconds: 3_600 });
    for (const index of indexes) {
      await client.zadd(index, Date.now() - hour - 1_000, 'gone', Date.now() - hour + 60_000, 'alive');
    }
    await commitAt(store, key, add);
    for (const index of indexes) expect(await client.zrange(index, 0, '-1')).toEqual(['alive', `${key}`]);
  });
});

function named(options: { readonly ttlSeconds: number }) {
  const created = testStore(options);
  const { session, messages: list, lifetime, indexes } = keysOf(created.keyPrefix, key);
  return { ...created, indexes, names: [session, list, lifetime, ...indexes] };
}
