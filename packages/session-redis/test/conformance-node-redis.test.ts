import { SessionKey } from '@x/core';
import { commitAt, takeLease } from '@x/test-support';
import { sessionStoreSuite } from '@x/testkit/suites';
import { expect, it } from 'vitest';
import { fromNodeRedis, RedisSession, RedisWorkspace } from '../src/index.js';
import { keysOf } from '../src/redis-keys.js';
import { nodeRedisClient, nodeRedisCluster } from './support/node-redis.js';
import { collect, messages } from './support/test-store.js';

let keyPrefix: string;

sessionStoreSuite({
  name: 'RedisSession over node-redis',
  create: async () => {
    const { client, keyPrefix: fresh } = await nodeRedisClient();
    keyPrefix = fresh;
    return new RedisSession({ client, keyPrefix });
  },
  reopen: async () => new RedisSession({ client: (await nodeRedisClient()).client, keyPrefix }),
});

const key = SessionKey.of({ userId: 'alice', sessionId: 's' });

it('a cluster of node-redis will do as well', async () => {
  const options = await nodeRedisCluster();
  const workspace = new RedisWorkspace(options);
  await workspace.append('a/b', Buffer.from([0, 255]));
  expect([...(await workspace.read('a/b'))]).toEqual([0, 255]);
  const store = new RedisSession({ ...options, ttlSeconds: 60 });
  const lease = await takeLease(store, key);
  const append = messages(2);
  await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append, fence: lease?.fence });
  expect((await store.load(key))?.messages).toEqual(append);
  expect(await collect(store.list())).toHaveLength(1);
  expect(await store.delete(key)).toBe(true);
});

it('a damaged session is told as over ioredis', async () => {
  const { client, keyPrefix: prefix, raw } = await nodeRedisClient();
  const store = new RedisSession({ client, keyPrefix: prefix });
  await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: messages(1) });
  await raw.set(keysOf(prefix, key).messages, 'text');
  await expect(store.load(key)).rejects.toMatchObject({ code: 'session_corrupt' });
});

it('a client of node-redis as it is is refused, with what to do', async () => {
  const { raw } = await nodeRedisClient();
  expect(() => new RedisSession({ client: raw as never })).toThrow(/fromNodeRedis\(client\)/);
});

it('what is no client of node-redis 5 or later is refused, with what to do', () => {
  for (const client of [undefined, { evalSha: () => {} }, { evalsha: () => {} }]) {
    expect(() => fromNodeRedis(client as never)).toThrow(
      /version 5 or later. Pass a client of ioredis directly/,
    );
  }
});
