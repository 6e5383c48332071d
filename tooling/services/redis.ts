import { Redis } from 'ioredis';
import { startLocalServer } from './local-server.js';
import { provide } from './provide.js';
import type { Running, Service } from './service.js';

const url = (host: string, port: number) => `redis://${host}:${port}`;

/** The program and the packages of every kind of Redis server. */
export const installed = {
  programs: ['redis-server', 'valkey-server'],
  debianPackages: ['redis-server'],
  homebrewFormula: 'redis',
};

/** Options of one Redis server. */
interface RedisOptions {
  /** Name of the server in messages. Default `redis`. */
  readonly name?: string;
  /** Returns the arguments of the server. A configuration file must be the first argument. */
  readonly settings: (directory: string) => readonly string[];
  /** Rejects until the server is ready. Default: until it answers. */
  readonly ready?: (client: Redis) => Promise<unknown>;
}

/** Starts a private server on a loopback port. */
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

/** Runs a task with a connection to one server, and closes the connection afterwards. */
export async function withRedis<T>(address: string, task: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(address, { lazyConnect: true, retryStrategy: () => null });
  // connect() rejects with the same error. Without a listener, ioredis would also print it.
  client.on('error', () => {});
  try {
    await client.connect();
    return await task(client);
  } finally {
    client.disconnect();
  }
}

/** Waits for several servers. If one of them fails to start, stops the others and rejects. */
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

/** A server that syncs every write to disk, for tests that kill it. So use it only as a private server. */
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
