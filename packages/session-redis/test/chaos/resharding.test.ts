import { SessionKey } from '@x/core';
import { checkTurns, runWriters } from '@x/testkit';
import { Cluster } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { chaosLoad as load, writerOf } from '../../../../tooling/chaos.js';
import { redisCluster } from '../../../../tooling/services/redis-cluster.js';
import { resolve } from '../../../../tooling/services/resolve.js';
import { ownServers } from '../../../../tooling/services/strategies.js';
import { RedisSession } from '../../src/index.js';
import { keysOf } from '../../src/redis-keys.js';
import { reshard } from '../support/reshard.js';

const TIMEOUT = 600_000;

it('sessions whose slots move to another master lose no turn', { timeout: TIMEOUT }, async () => {
  const { address, stop } = await resolve(redisCluster, ownServers);
  onTestFinished(stop);
  const users = Array.from({ length: 10 }, (_, user) => {
    const [index = ''] = keysOf('x:', SessionKey.of({ userId: `u-${user}`, sessionId: 's' })).indexes;
    return index;
  });
  const move = async () => {
    await reshard(address, users);
    moves += 1;
  };
  let moves = 0;
  const history = await runWriters({
    ...load,
    seed: 3,
    start: writerOf(new URL('../children/write-turns.ts', import.meta.url), 'cluster', address),
    disruptions: [move, move, move],
  });
  expect(moves).toBe(3);
  const { hostname, port } = new URL(address);
  const client = new Cluster([{ host: hostname, port: Number(port) }]);
  onTestFinished(() => client.disconnect());
  await checkTurns(new RedisSession({ client }), load, history);
});
