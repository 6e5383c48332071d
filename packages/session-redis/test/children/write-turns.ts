// Writes turns into the Redis at this address, and reports those that it has confirmed.
import { WorkspaceSession } from '@x/core/node';
import { type TurnPlan, writeTurns } from '@x/testkit';
import { Cluster, Redis } from 'ioredis';
import { RedisSession, RedisWorkspace } from '../../src/index.js';
import { sentinelOptions } from '../support/sentinel.js';

const [kind = '', address = '', plan = ''] = process.argv.slice(2);
const client = connect();
// ioredis connects again by itself.
client.on('error', () => {});
let connections = 0;
client.on('connect', () => {
  connections += 1;
});
const store =
  kind === 'files' ? new WorkspaceSession(new RedisWorkspace({ client })) : new RedisSession({ client });
await writeTurns(store, JSON.parse(plan) as TurnPlan, kind === 'sentinel' ? confirm : undefined);
client.disconnect();
process.disconnect();

/**
 * What a failover may lose is what the replica had not received when the master ended. Only the connection that made a
 * commit can be asked about it: on another one nothing was written yet, and any replica has all of that.
 */
async function confirm(): Promise<boolean> {
  if (!(client instanceof Redis)) return false;
  const connection = connections;
  return (await client.wait(1, 10_000)) > 0 && connections === connection;
}

function connect(): Redis | Cluster {
  const { hostname, port } = new URL(address.replace(/,.*$/, ''));
  if (kind === 'cluster') return new Cluster([{ host: hostname, port: Number(port) }]);
  if (kind === 'sentinel') return new Redis({ ...sentinelOptions(address), maxRetriesPerRequest: 100 });
  return new Redis(address, { retryStrategy: () => 50 });
}
