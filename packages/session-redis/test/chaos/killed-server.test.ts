import { checkTurns, runWriters } from '@x/testkit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { durableRedis } from '../../../../tooling/services/redis.js';
import { resolve } from '../../../../tooling/services/resolve.js';
import { ownServers } from '../../../../tooling/services/strategies.js';
import { RedisSession } from '../../src/index.js';
import { load, writer } from '../support/chaos.js';

const TIMEOUT = 600_000;

it('a server that is killed, and writers that are, lose no acknowledged turn', {
  timeout: TIMEOUT,
}, async () => {
  const server = await resolve(durableRedis, ownServers);
  onTestFinished(server.stop);
  const crash = async () => server.crash?.();
  const acknowledged = await runWriters({
    ...load,
    seed: 1,
    start: (plan) => writer('single', server.address, plan),
    disruptions: [crash, crash],
  });
  expect(acknowledged.length).toBeGreaterThan((load.sessions * load.turns) / 2);
  const client = new Redis(server.address);
  onTestFinished(() => client.disconnect());
  await checkTurns(new RedisSession({ client }), load, acknowledged);
});
