import { expect, test } from 'vitest';
import { startAll } from '../../services/redis.js';
import { redisCluster } from '../../services/redis-cluster.js';
import { redisSentinel } from '../../services/redis-sentinel.js';
import { resolve, strategies } from '../../services/resolve.js';
import type { Running } from '../../services/service.js';

test.each([redisCluster, redisSentinel])(
  'where there is only a container for $name, the error says so',
  async (service) => {
    const only = strategies.filter(({ name }) => name === 'environment' || name === 'Docker');
    const error = await resolve(service, only).catch((reason: unknown) => reason);
    expect(String(error)).toContain(`environment: ${service.variable} is not set`);
    expect(String(error)).toContain(`Docker: ${service.name} is not used from a container`);
    expect(String(error)).toContain('apt-get install --no-install-recommends redis-server');
  },
);

test('of servers that start together, none is left when one fails', async () => {
  const stopped: string[] = [];
  const server = (address: string): Promise<Running> =>
    Promise.resolve({ address, stop: async () => void stopped.push(address) });
  const starts = [server('a'), Promise.reject(new Error('no port')), server('b')];
  await expect(startAll(starts)).rejects.toThrow('no port');
  expect(stopped.sort()).toEqual(['a', 'b']);
});
