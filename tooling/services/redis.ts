import { Redis } from 'ioredis';
import { startContainer } from './container.js';
import { startLocalServer } from './local-server.js';
import { provide } from './provide.js';
import type { Service } from './service.js';

const url = (host: string, port: number) => `redis://${host}:${port}`;

async function ping(address: string): Promise<void> {
  const client = new Redis(address, { lazyConnect: true, retryStrategy: () => null });
  // The rejection of connect() says the same; without a listener ioredis prints it.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.ping();
  } finally {
    client.disconnect();
  }
}

export const redis: Service = {
  name: 'Redis',
  variable: 'REDIS_URL',
  example: url('127.0.0.1', 6379),
  programs: ['redis-server', 'valkey-server'],
  debianPackages: ['redis-server'],
  homebrewFormula: 'redis',
  fromProgram: (path) =>
    startLocalServer({
      name: 'redis',
      commands: (directory, port) => [
        [
          path,
          '--bind',
          '127.0.0.1',
          '--port',
          `${port}`,
          '--dir',
          directory,
          '--save',
          '',
          '--appendonly',
          'no',
        ],
      ],
      url,
      ping,
    }),
  fromContainer: () => startContainer({ image: 'redis:7-alpine', port: 6379, url, ping }),
};

export default provide('redisUrl', redis);
