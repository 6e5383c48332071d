import { Redis } from 'ioredis';
import { type LocalServer, startLocalServer } from './local-server.js';
import type { Running } from './service.js';

/** A Redis server of its own on a loopback port, with more arguments than a plain one has. */
export function startRedisNode(
  program: string,
  name: string,
  options: (directory: string) => readonly string[],
  ping: LocalServer['ping'] = answers,
): Promise<Running> {
  return startLocalServer({
    name,
    commands: (directory, port) => [
      [
        program,
        // First, since a configuration file counts only as the first argument.
        ...options(directory),
        ...[
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
    ],
    url: (host, port) => `redis://${host}:${port}`,
    ping,
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

async function answers(address: string): Promise<void> {
  await withRedis(address, (client) => client.ping());
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
