import { Redis } from 'ioredis';
import { startContainer } from './container.js';
import { startLocalServer } from './local-server.js';
import { provide } from './provide.js';
import type { Running, Service } from './service.js';

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

const installed = {
  name: 'Redis',
  variable: 'REDIS_URL',
  example: url('127.0.0.1', 6379),
  programs: ['redis-server', 'valkey-server'],
  debianPackages: ['redis-server'],
  homebrewFormula: 'redis',
};

/** A server with these settings, which are name and value by turns. */
function start(path: string, settings: readonly string[]): Promise<Running> {
  return startLocalServer({
    name: 'redis',
    commands: (directory, port) => [
      [path, '--bind', '127.0.0.1', '--port', `${port}`, '--dir', directory, '--save', '', ...settings],
    ],
    url,
    ping,
  });
}

/** A server that has on disk what it has confirmed. Only of our own, since it is there to be killed. */
export const durableRedis: Service = {
  ...installed,
  fromProgram: (path) => start(path, ['--appendonly', 'yes', '--appendfsync', 'always']),
};

export const redis: Service = {
  ...installed,
  fromProgram: (path) => start(path, ['--appendonly', 'no']),
  fromContainer: () => startContainer({ image: 'redis:7-alpine', port: 6379, url, ping }),
};

export default provide('redisUrl', redis);
