import { provide } from './provide.js';
import { installed, startAll, startRedis, stopAll, withRedis } from './redis.js';
import type { Running, Service } from './service.js';
import { untilReady } from './until-ready.js';

const SLOTS = 16_384;
const MASTERS = 3;

/**
 * Three masters that share the slots. The address is that of one master, from which a client learns the addresses of the
 * others.
 *
 * Do not run it in a container: nodes send their addresses to clients, but do not know the ports under which a container
 * publishes them.
 */
export const redisCluster: Service = {
  ...installed,
  name: 'Redis Cluster',
  variable: 'REDIS_CLUSTER_URL',
  example: 'redis://127.0.0.1:7000',
  fromProgram: startCluster,
};

async function startCluster(program: string): Promise<Running> {
  // Much longer than a node can be unresponsive on a busy machine. If one node counts as dead, the whole cluster fails.
  const options = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '60000'];
  const starts = Array.from({ length: MASTERS }, () =>
    startRedis(program, { name: 'redis-cluster', settings: () => options }),
  );
  const nodes = await startAll(starts);
  const stop = () => stopAll(nodes);
  try {
    await join(nodes.map(({ address }) => address));
  } catch (error) {
    await stop();
    throw error;
  }
  const [{ address } = { address: '' }] = nodes;
  return { address, stop };
}

/** Assigns slots to every node, and connects it to the others. Resolves once all nodes see the whole cluster. */
async function join(addresses: readonly string[]): Promise<void> {
  const share = Math.ceil(SLOTS / addresses.length);
  for (const [index, address] of addresses.entries()) {
    const last = Math.min(SLOTS, (index + 1) * share) - 1;
    await withRedis(address, async (client) => {
      await client.call('CLUSTER', 'ADDSLOTSRANGE', index * share, last);
      for (const other of addresses.slice(0, index)) {
        const { hostname, port } = new URL(other);
        await client.call('CLUSTER', 'MEET', hostname, port);
      }
    });
  }
  for (const address of addresses) await untilReady(() => withRedis(address, seesAll));
}

async function seesAll(client: { cluster(subcommand: 'INFO'): Promise<unknown> }): Promise<void> {
  const info = String(await client.cluster('INFO'));
  const isWhole = info.includes('cluster_state:ok') && info.includes(`cluster_size:${MASTERS}`);
  if (!isWhole) throw new Error(`the cluster is not complete yet: ${info.slice(0, 60)}`);
}

export default provide('redisClusterUrl', redisCluster);
