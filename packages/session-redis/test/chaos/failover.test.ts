import { checkTurns, runWriters } from '@x/test-support';
import { chaosLoad as load, writerOf } from '@x/test-support/servers';
import { Redis } from 'ioredis';
import { it, onTestFinished } from 'vitest';
import { redisSentinel } from '../../../../tooling/services/redis-sentinel.js';
import { ownServers, resolve } from '../../../../tooling/services/resolve.js';
import { RedisSession } from '../../src/index.js';
import { failOver, requireReplica, sentinelOptions } from '../support/sentinel.js';

const TIMEOUT = 600_000;

it('a failover loses no turn that a replica has confirmed, and leaves whole sessions', {
  timeout: TIMEOUT,
}, async () => {
  const { address, stop } = await resolve(redisSentinel, ownServers);
  onTestFinished(stop);
  await requireReplica(address);
  const history = await runWriters({
    ...load,
    seed: 2,
    start: writerOf(new URL('../children/write-turns.ts', import.meta.url), 'sentinel', address),
    disruptions: [async () => onTestFinished((await failOver(address)).stop)],
  });
  const client = new Redis(sentinelOptions(address));
  onTestFinished(() => client.disconnect());
  await checkTurns(new RedisSession({ client }), load, history);
});
