import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { openSession, SessionKey, userMessage } from '@x/core';
import { commitAt, takeLease } from '@x/test-support';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { redisSentinel } from '../../../tooling/services/redis-sentinel.js';
import { resolve } from '../../../tooling/services/resolve.js';
import type { Running } from '../../../tooling/services/service.js';
import { RedisSession } from '../src/index.js';
import { commitToReplica } from './support/commit-to-replica.js';
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

it('the code of the documentation confirms a turn that the replica has, and none over another connection than its own', {
  timeout: TIMEOUT,
}, async () => {
  const page = readFileSync(new URL('../../../docs/redis.md', import.meta.url), 'utf8');
  const code = readFileSync(new URL('./support/commit-to-replica.ts', import.meta.url), 'utf8');
  expect(page).toContain(code);
  const own = new Redis({ ...sentinelOptions(running.address), maxRetriesPerRequest: null });
  onTestFinished(() => own.disconnect());
  const wait = own.wait.bind(own);
  const answers: number[] = [];
  // For as long as it takes.
  own.wait = async (count: number) => {
    answers.push(await wait(count, 60_000));
    return answers.at(-1) as number;
  };
  const session = await openSession(new RedisSession({ client: own }), SessionKey.of('confirmed'));
  const add = () => session.state.contextMutable().push(userMessage('Hi'));
  add();
  expect(await commitToReplica(session, own)).toBe(true);
  add();
  const commit = async () => {
    const version = await session.commit();
    own.disconnect(true);
    await once(own, 'ready');
    return version;
  };
  expect(await commitToReplica({ ...session, commit }, own)).toBe(false);
  expect(answers).toEqual([1, 1]);
});

it('goes on where it was when the master ends and Sentinel promotes the replica', {
  timeout: TIMEOUT,
}, async () => {
  const store = new RedisSession({ client, ttlSeconds: 3_600 });
  const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
  const lease = await takeLease(store, key);
  const [first, second] = messages(2);
  await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [first], fence: lease?.fence });
  const before = await runIdOf(client);
  // Redis answers before the replica has it; this test is about what comes after.
  expect(await client.wait(1, 60_000)).toBe(1);

  await endMaster(running.address);
  const change = { expectedVersion: 1, head: {}, keep: 1, append: [second], fence: lease?.fence };
  expect(await commitAt(store, key, change)).toBe(2);

  expect(await runIdOf(client)).not.toBe(before);
  expect((await store.load(key))?.messages).toEqual([first, second]);
  expect(await takeLease(store, key)).toBeUndefined();
  expect(await lease?.confirm()).toBe(true);
});

async function runIdOf(server: Redis): Promise<string | undefined> {
  return /run_id:(\w+)/.exec(await server.info('server'))?.[1];
}
