import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { installed, startAll, startRedis, stopAll, withRedis } from './redis.js';
import type { Running, Service } from './service.js';
import { untilReady } from './until-ready.js';

const SENTINELS = 3;
/** Name of the master in the configuration of the Sentinels. */
const MASTER = 'mymaster';
/**
 * Milliseconds without an answer after which a Sentinel considers the master dead. Much longer than the master can be
 * unresponsive on a busy machine, so that a failover begins only when a test ends the master.
 */
const PATIENCE = 60_000;
/** Sends the data to a new replica at once. By default, a master waits five seconds for more replicas. */
const PROMPT = ['--repl-diskless-sync-delay', '0'];

/**
 * A master and a replica, watched by three Sentinels with a quorum of two. The address contains the Sentinels and, as its
 * path, the name of the master: `redis+sentinel://127.0.0.1:26379,127.0.0.1:26380/mymaster`. Tests that use this service end
 * the master. So each test starts its own service, and lowers the Sentinels' `down-after-milliseconds` first.
 *
 * Do not run it in a container: Sentinels send the address of the master to clients, but do not know the port under which
 * a container publishes it.
 */
export const redisSentinel: Service = {
  ...installed,
  name: 'Redis Sentinel',
  variable: 'REDIS_SENTINEL_URL',
  example: 'redis+sentinel://127.0.0.1:26379/mymaster',
  fromProgram: startSentinels,
};

async function startSentinels(program: string): Promise<Running> {
  const master = await startRedis(program, { name: 'redis-master', settings: () => PROMPT });
  const running = [master];
  const stop = () => stopAll(running);
  try {
    const { hostname, port } = new URL(master.address);
    running.push(await startReplica(program, hostname, port));
    const starts = Array.from({ length: SENTINELS }, () => startSentinel(program, hostname, port));
    const sentinels = await startAll(starts);
    running.push(...sentinels);
    for (const { address } of sentinels) await untilReady(() => withRedis(address, seesAll));
    const hosts = sentinels.map(({ address }) => new URL(address).host).join(',');
    return { address: `redis+sentinel://${hosts}/${MASTER}`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts a replica. Resolves once it has all data of its master. */
export function startReplica(program: string, host: string, port: string): Promise<Running> {
  return startRedis(program, {
    name: 'redis-replica',
    settings: () => [...PROMPT, '--replicaof', host, port],
    ready: isLinked,
  });
}

function startSentinel(program: string, host: string, port: string): Promise<Running> {
  const settings = (directory: string) => {
    // A Sentinel stores its state in its configuration file, and refuses to start without one.
    const configuration = join(directory, 'sentinel.conf');
    const lines = [
      `sentinel monitor ${MASTER} ${host} ${port} 2`,
      `sentinel down-after-milliseconds ${MASTER} ${PATIENCE}`,
      `sentinel failover-timeout ${MASTER} 5000`,
    ];
    writeFileSync(configuration, `${lines.join('\n')}\n`);
    return [configuration, '--sentinel'];
  };
  return startRedis(program, { name: 'redis-sentinel', settings });
}

async function isLinked(client: Redis): Promise<void> {
  const info = await client.info('replication');
  if (!info.includes('master_link_status:up')) throw new Error('the replica has not caught up yet');
}

async function seesAll(client: Redis): Promise<void> {
  const fields = [await client.call('SENTINEL', 'MASTER', MASTER)].flat().join(' ');
  const isWhole = /\bnum-slaves 1\b/.test(fields) && fields.includes(`num-other-sentinels ${SENTINELS - 1} `);
  if (!isWhole) throw new Error('the Sentinels have not found each other yet');
}
