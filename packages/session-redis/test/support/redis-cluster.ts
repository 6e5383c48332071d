import { Redis } from 'ioredis';
import { startLocalServer } from '../../../../tooling/services/local-server.js';
import { resolve } from '../../../../tooling/services/resolve.js';

const url = (host: string, port: number) => `redis://${host}:${port}`;

/** A Redis Cluster of one node: it refuses commands across slots as a larger one does. */
export function startCluster() {
  return resolve({
    name: 'Redis Cluster',
    variable: 'REDIS_CLUSTER_URL',
    example: url('127.0.0.1', 7000),
    programs: ['redis-server', 'valkey-server'],
    debianPackages: ['redis-server'],
    homebrewFormula: 'redis',
    fromProgram: (path) =>
      startLocalServer({
        name: 'redis-cluster',
        commands: (directory, port) => [
          [
            path,
            ...['--bind', '127.0.0.1', '--port', `${port}`, '--dir', directory, '--save', ''],
            // A node that has met no other does not know its own address.
            ...['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
          ],
        ],
        url,
        ping: ownAllSlots,
      }),
  });
}

async function ownAllSlots(address: string): Promise<void> {
  const client = new Redis(address, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => {});
  try {
    await client.connect();
    const info = String(await client.cluster('INFO'));
    if (info.includes('cluster_slots_assigned:0')) await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
    if (!info.includes('cluster_state:ok')) throw new Error('the cluster is not up yet');
  } finally {
    client.disconnect();
  }
}
