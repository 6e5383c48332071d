// Writes turns into the Redis at this address, and reports those that were stored.
import { type TurnPlan, writeTurns } from '@x/testkit';
import { Cluster, Redis } from 'ioredis';
import { RedisSession } from '../../src/index.js';
import { sentinelOptions } from '../support/sentinel.js';

const [kind = '', address = '', plan = ''] = process.argv.slice(2);
const client = connect();
// ioredis connects again by itself.
client.on('error', () => {});
// What a failover may lose is what the replica had not received when the master ended.
const replicas = kind === 'sentinel' ? { count: 1, timeoutMs: 10_000 } : undefined;
await writeTurns(new RedisSession({ client, replicas }), JSON.parse(plan) as TurnPlan);
client.disconnect();
process.disconnect();

function connect(): Redis | Cluster {
  const { hostname, port } = new URL(address.replace(/,.*$/, ''));
  if (kind === 'cluster') return new Cluster([{ host: hostname, port: Number(port) }]);
  if (kind === 'sentinel') return new Redis({ ...sentinelOptions(address), maxRetriesPerRequest: 100 });
  return new Redis(address);
}
