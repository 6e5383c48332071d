import { SessionKey } from '@x/core';
import { Cluster } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Running } from '../../../tooling/services/service.js';
import { RedisSession } from '../src/index.js';
import { startCluster } from './support/redis-cluster.js';
import { collect, messages } from './support/test-store.js';

let running: Running;
let client: Cluster;

beforeAll(async () => {
  running = await startCluster();
  const { hostname, port } = new URL(running.address);
  client = new Cluster([{ host: hostname, port: Number(port) }], { keyPrefix: 'client:' });
}, 60_000);

afterAll(async () => {
  client?.disconnect();
  await running?.stop();
});

it('works on Redis Cluster, with a key prefix of the client as well', async () => {
  const store = new RedisSession({ client, ttlSeconds: 60 });
  const [first, second] = messages(2);
  const keys = [
    SessionKey.of('s-1'),
    SessionKey.of({ tenantId: 'acme', userId: '{alice}', agentId: 'coder', sessionId: 's-1' }),
  ];
  for (const key of keys) {
    await store.commit(key, { expectedVersion: 0, head: {}, keep: 0, append: [first] });
    await store.commit(key, { expectedVersion: 1, head: {}, keep: 1, append: [second] });
    expect((await store.load(key))?.messages).toEqual([first, second]);
  }
  expect((await collect(store.list())).map(({ key }) => `${key}`).sort()).toEqual(keys.map(String).sort());
  for (const key of keys) expect(await store.delete(key)).toBe(true);
  expect(await client.nodes('master')[0]?.keys('*')).toEqual([]);
});
