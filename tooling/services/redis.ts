import { Redis } from 'ioredis';
import { startLocalServer } from './local-server.js';
import { provide } from './provide.js';
import type { Running, Service } from './service.js';

const url = (host: string, port: number) => `redis://${host}:${port}`;

/** Where the program of every kind of Redis comes from. */
export const installed = {
  programs: ['redis-server', 'valkey-server'],
  debianPackages: ['redis-server'],
  homebrewFormula: 'redis',
};

/** How one server differs from a plain one. */
interface RedisOptions {
  /** For messages. */
  readonly name?: string;
  /** Its arguments; a configuration file counts only as the first. */
  readonly settings: (directory: string) => readonly string[];
  /** Rejects until it is as it should be. Default: until it answers. */
  readonly ready?: (client: Redis) => Promise<unknown>;
}

/** Starts a server of one's own on a loopback port. */
export function startRedis(
  program: string,
  { name = 'redis', settings, ready = (client) => client.ping() }: RedisOptions,
): Promise<Running> {
  return startLocalServer({
    name,
    commands: (directory, port) => {
      const common = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', directory, '--save', ''];
      return [[program, ...settings(directory), ...common]];
    },
    url,
    ping: async (address) => void (await withRedis(address, ready)),
  });
}

/** Runs a task with a connection to one server, which it does not survive. */
export async function withRedis<T>(address: string, task: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(address, { lazyConnect: true, retryStrategy: () => null });
  // The rejection of connect() says the same; without a listener ioredis prints it.
  client.on('error', () => {});
  try {
    await client.connect();
    return await task(client);
  } finally {
    client.disconnect();
  }
}

/** Several servers as one service: what was started is stopped, also when one of them fails to start. */
export async function startAll(starts: readonly Promise<Running>[]): Promise<readonly Running[]> {
  const results = await Promise.allSettled(starts);
  const running = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return running;
  await stopAll(running);
  throw failed.reason;
}

export async function stopAll(running: readonly Running[]): Promise<void> {
  await Promise.all(running.map(({ stop }) => stop()));
}

const plain = { ...installed, name: 'Redis', variable: 'REDIS_URL', example: url('127.0.0.1', 6379) };

/** A server that has on disk what it has confirmed. Only of our own, since it is there to be killed. */
export const durableRedis: Service = {
  ...plain,
  fromProgram: (path) =>
    startRedis(path, { settings: () => ['--appendonly', 'yes', '--appendfsync', 'always'] }),
};

export const redis: Service = {
  ...plain,
  fromProgram: (path) => startRedis(path, { settings: () => [] }),
};

export default provide('redisUrl', redis);
