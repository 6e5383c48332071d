import { Redis } from 'ioredis';
import { findProgram } from '../../../../tooling/services/find-program.js';
import { redisSentinel, startReplica } from '../../../../tooling/services/redis-sentinel.js';
import type { Running } from '../../../../tooling/services/service.js';
import { untilReady } from '../../../../tooling/services/until-ready.js';

/** What a URL like `redis+sentinel://host:port,host:port/master` says, as options of ioredis. */
export function sentinelOptions(address: string) {
  const [, hosts = '', name = ''] = /^redis\+sentinel:\/\/([^/]+)\/(.+)$/.exec(address) ?? [];
  const sentinels = hosts.split(',').map((entry) => {
    const { hostname, port } = new URL(`redis://${entry}`);
    return { host: hostname, port: Number(port) };
  });
  return { sentinels, name, retryStrategy: () => 50, sentinelRetryStrategy: () => 50 };
}

/** Milliseconds that the Sentinels may take to agree; after a failed vote, or a pause of the machine, they wait half a minute. */
const AGREEMENT = 300_000;

/** Ends the server that the Sentinels call the master, over a connection of its own, and lets them notice. */
export async function endMaster(address: string): Promise<void> {
  await setPatience(address, 1_000);
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

/**
 * Kills the master (SIGKILL), waits until the Sentinels have made the replica one, and gives that a new replica. Neither
 * takes writes while it has no replica, as is advisable: a master that is cut off would go on alone.
 */
export async function failOver(address: string): Promise<Running> {
  const { sentinels, name } = sentinelOptions(address);
  const client = new Redis({ ...sentinelOptions(address), maxRetriesPerRequest: 0 });
  const sentinel = new Redis(sentinels[0] ?? {});
  client.on('error', () => {});
  const master = async () => String(await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name));
  const before = await master();
  await setPatience(address, 1_000);
  process.kill(Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]), 'SIGKILL');
  await untilReady(async () => {
    if ((await master()) === before) throw new Error('the Sentinels have not changed the master yet');
  }, AGREEMENT);
  // The new master is not to be given up for being busy.
  await setPatience(address, 60_000);
  const [host = '', port = ''] = (await master()).split(',');
  client.disconnect();
  sentinel.disconnect();
  return startReplica(findProgram(redisSentinel.programs), host, port);
}

/** Milliseconds of silence after which the Sentinels take the master for dead. */
async function setPatience(address: string, milliseconds: number): Promise<void> {
  const { sentinels, name } = sentinelOptions(address);
  for (const at of sentinels) {
    const sentinel = new Redis(at);
    await sentinel.call('SENTINEL', 'SET', name, 'down-after-milliseconds', milliseconds);
    sentinel.disconnect();
  }
}

/** Forbids writes without a replica, to the master now and to who may become it. */
export async function requireReplica(address: string): Promise<void> {
  for (const role of ['slave', 'master'] as const) {
    const client = new Redis({ ...sentinelOptions(address), role });
    await client.config('SET', 'min-replicas-to-write', '1');
    client.disconnect();
  }
}
