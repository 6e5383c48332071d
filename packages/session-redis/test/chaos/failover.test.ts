import { checkTurns, runWriters } from '@x/testkit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { redisSentinel } from '../../../../tooling/services/redis-sentinel.js';
import { resolve } from '../../../../tooling/services/resolve.js';
import { ownServers } from '../../../../tooling/services/strategies.js';
import { RedisSession } from '../../src/index.js';
import { load, writer } from '../support/chaos.js';
import { failOver, requireReplica, sentinelOptions } from '../support/sentinel.js';

const TIMEOUT = 600_000;

it('a failover loses no turn that a replica has confirmed, and leaves whole sessions', {
  timeout: TIMEOUT,
}, async () => {
  const { address, stop } = await resolve(redisSentinel, ownServers);
  onTestFinished(stop);
  await requireReplica(address);
  const acknowledged = await runWriters({
    ...load,
    seed: 2,
    start: (plan) => writer('sentinel', address, plan),
    disruptions: [async () => onTestFinished((await failOver(address)).stop)],
  });
  expect(acknowledged.length).toBeGreaterThan((load.sessions * load.turns) / 2);
  const client = new Redis(sentinelOptions(address));
  onTestFinished(() => client.disconnect());
  await checkTurns(new RedisSession({ client }), load, acknowledged);
});
