import { setTimeout as sleep } from 'node:timers/promises';
import { readText, SessionKey } from '@x/core';
import { checkTurns, commitAt, runWriters, takeLease } from '@x/test-support';
import { chaosLoad as load, writerOf } from '@x/test-support/servers';
import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { redisCluster } from '../../../../tooling/services/redis-cluster.js';
import { ownServers, resolve } from '../../../../tooling/services/resolve.js';
import type { Running } from '../../../../tooling/services/service.js';
import { fromNodeRedis, type RedisClient, RedisSession, RedisWorkspace } from '../../src/index.js';
import { keysOf } from '../../src/redis-keys.js';
import { reshard } from '../support/reshard.js';
import { collect, messages } from '../support/test-store.js';

const TIMEOUT = 600_000;
/** Longer than ioredis tries by itself: 16 times, with 100 ms in between. */
const HELD_MS = 2_500;

let cluster: Running;
beforeAll(async () => {
  cluster = await resolve(redisCluster, ownServers);
}, TIMEOUT);
afterAll(() => cluster?.stop());

function ioredis(): Cluster {
  const { hostname, port } = new URL(cluster.address);
  const client = new Cluster([{ host: hostname, port: Number(port) }]);
  onTestFinished(() => client.disconnect());
  return client;
}

async function nodeRedis(): Promise<RedisClient> {
  const client = createCluster({ rootNodes: [{ url: cluster.address }] });
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  await client.connect();
  return fromNodeRedis(client);
}

it('sessions whose slots move to another master lose no turn', { timeout: TIMEOUT }, async () => {
  const users = Array.from({ length: 10 }, (_, user) => {
    const [index = ''] = keysOf('x:', SessionKey.of({ userId: `u-${user}`, sessionId: 's' })).indexes;
    return index;
  });
  const move = async () => {
    await reshard(cluster.address, users);
    moves += 1;
  };
  let moves = 0;
  const history = await runWriters({
    ...load,
    seed: 3,
    start: writerOf(new URL('../children/write-turns.ts', import.meta.url), 'cluster', cluster.address),
    disruptions: [move, move, move],
  });
  expect(moves).toBe(3);
  await checkTurns(new RedisSession({ client: ioredis() }), load, history);
});

it.each([
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
])(
  'every operation waits for a slot that is half moved, over %s',
  { timeout: TIMEOUT },
  async (name, connect) => {
    const client = await connect();
    const keyPrefix = `${name}:`;
    const store = new RedisSession({ client, keyPrefix });
    const workspace = new RedisWorkspace({ client, keyPrefix });
    const [key, absent, gone] = ['s', 'new', 'gone'].map((sessionId) =>
      SessionKey.of({ userId: 'u', sessionId }),
    ) as [SessionKey, SessionKey, SessionKey];
    const change = { expectedVersion: 0, head: {}, keep: 0, append: messages(1) } as const;
    const log = '.x/users/u/sessions/s.log.jsonl';
    for (const each of [key, gone]) await commitAt(store, each, change);
    for (const path of ['d/a', 'd/b/c', 'e/f', log]) await workspace.write(path, 'text');
    const { indexes } = keysOf(keyPrefix, key);
    /** What is done while the slot of the user is held, and while that of the files is. */
    const begin = [
      () => [
        commitAt(store, key, { ...change, expectedVersion: 'latest' }),
        commitAt(store, absent, change),
        store.load(key).then((stored) => stored?.messages.length),
        takeLease(store, SessionKey.of({ userId: 'u', sessionId: 'leased' })).then(
          (lease) => lease !== undefined,
        ),
        store.delete(gone),
        collect(store.list({ userId: 'u' })).then(({ length }) => length > 0),
        workspace.append(log, ' more'),
      ],
      () => [
        readText(workspace, 'd/a'),
        workspace.write('new', 'text'),
        workspace.delete('e'),
        collect(workspace.list('d', { recursive: true })).then(({ length }) => length),
      ],
    ];
    const results: Promise<readonly unknown[]>[] = [];
    for (const [slot, name] of [indexes[0] ?? '', `${keyPrefix}{${keyPrefix}files}:operations`].entries()) {
      await reshard(cluster.address, [name], async () => {
        const operations = Promise.all(begin[slot]?.() ?? []);
        operations.catch(() => {});
        results.push(operations);
        await sleep(HELD_MS);
      });
    }
    expect(await Promise.all(results)).toEqual([
      [2, 1, 1, true, true, true, undefined],
      ['text', undefined, true, 3],
    ]);
    expect(await readText(workspace, log)).toBe('text more');
    expect(await workspace.stat('e/f')).toBeUndefined();
  },
);
