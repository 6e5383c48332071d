import { Redis } from 'ioredis';

/** What a URL like `redis+sentinel://host:port,host:port/master` says, as options of ioredis. */
export function sentinelOptions(address: string) {
  const [, hosts = '', name = ''] = /^redis\+sentinel:\/\/([^/]+)\/(.+)$/.exec(address) ?? [];
  const sentinels = hosts.split(',').map((entry) => {
    const { hostname, port } = new URL(`redis://${entry}`);
    return { host: hostname, port: Number(port) };
  });
  return { sentinels, name, retryStrategy: () => 50, sentinelRetryStrategy: () => 50 };
}

/** Ends the server that the Sentinels call the master, over a connection of its own. */
export async function endMaster(address: string): Promise<void> {
  const client = new Redis({
    ...sentinelOptions(address),
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  client.on('error', () => {});
  // There is nobody left to answer.
  await client.call('SHUTDOWN', 'NOSAVE').catch(() => {});
  client.disconnect();
}
