import { type Message, operationId, SessionKey } from '@x/core';
import { commitAt } from '@x/testkit';
import { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { redisSentinel } from '../../../tooling/services/redis-sentinel.js';
import { resolve } from '../../../tooling/services/resolve.js';
import type { Running } from '../../../tooling/services/service.js';
import { RedisSession } from '../src/index.js';
import { endMaster, sentinelOptions } from './support/sentinel.js';
import { messages } from './support/test-store.js';

const TIMEOUT = 600_000;

let running: Running;
let client: Redis;

beforeAll(async () => {
  running = await resolve(redisSentinel);
  client = new Redis({ ...sentinelOptions(running.address), maxRetriesPerRequest: null });
  client.on('error', () => {});
}, TIMEOUT);

afterAll(async () => {
  client?.disconnect();
  await running?.stop();
});

it(
  'takes no commit for confirmed that too few replicas have, or that another connection is asked about',
  async () => {
    const key = SessionKey.of('s-confirmed');
    const [first, second] = messages(2);
    const change = (operation: string, expected: string | undefined, append: Message) => ({
      operation,
      expected,
      head: {},
      keep: expected === undefined ? 0 : 1,
      append: [append],
    });
    const unconfirmed = { code: 'session_unavailable', outcome: 'unknown' };
    const one = operationId();
    const two = new RedisSession({ client, replicas: { count: 2, timeoutMs: 50 } });
    await expect(two.commit(key, change(one, undefined, first))).rejects.toMatchObject(unconfirmed);
    const store = new RedisSession({ client, replicas: { count: 1, timeoutMs: 60_000 } });
    expect(await store.commit(key, change(one, undefined, first))).toBe(1);

    const next = change(operationId(), one, second);
    const call = client.call.bind(client) as (...values: string[]) => Promise<unknown>;
    const severing = async (...values: string[]) => {
      if (values[0] === 'WAIT') client.disconnect(true);
      return call(...values);
    };
    Object.assign(client, { call: severing });
    await expect(store.commit(key, next)).rejects.toMatchObject(unconfirmed);
    Object.assign(client, { call });
    expect(await store.commit(key, next)).toBe(2);
    expect((await store.load(key))?.messages).toEqual([first, second]);
  },
  TIMEOUT,
);

it('is refused for clients that cannot tell', () => {
  const replicas = { count: 1, timeoutMs: 1_000 };
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(() => new RedisSession({ client: cluster, replicas })).toThrow(
    /replicas: needs a `Redis` of ioredis/,
  );
});

it('goes on where it was when the master ends and Sentinel promotes the replica', {
  timeout: TIMEOUT,
}, async () => {
  // Redis answers before the replica has it; this test is about what comes after.
  const replicas = { count: 1, timeoutMs: 60_000 };
  const store = new RedisSession({ client, ttlSeconds: 3_600, replicas });
  const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
  const lease = await store.lease(key, { ttlMs: 3_600_000 });
  const [first, second] = messages(2);
  await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [first], fence: lease?.fence });
  const before = await runIdOf(client);

  await endMaster(running.address);
  const change = { expectedVersion: 1, head: {}, keep: 1, append: [second], fence: lease?.fence };
  // There is no replica any more.
  expect(await commitAt(new RedisSession({ client, ttlSeconds: 3_600 }), key, change)).toBe(2);

  expect(await runIdOf(client)).not.toBe(before);
  expect((await store.load(key))?.messages).toEqual([first, second]);
  expect(await store.lease(key, { ttlMs: 3_600_000 })).toBeUndefined();
  await lease?.renew();
});

async function runIdOf(server: Redis): Promise<string | undefined> {
  return /run_id:(\w+)/.exec(await server.info('server'))?.[1];
}
