// Writes turns into the Redis at this address, and reports those that it has confirmed.
import { type TurnPlan, writeTurns } from '@x/testkit';
import { Cluster, Redis } from 'ioredis';
import { RedisSession } from '../../src/index.js';
import { sentinelOptions } from '../support/sentinel.js';

const [kind = '', address = '', plan = ''] = process.argv.slice(2);
const client = connect();
// ioredis connects again by itself.
client.on('error', () => {});
// What a failover may lose is what the replica had not received when the master ended.
const confirm = async () =>
  !(client instanceof Redis) || kind !== 'sentinel' || (await client.wait(1, 500)) > 0;
await writeTurns(new RedisSession({ client }), JSON.parse(plan) as TurnPlan, confirm);
client.disconnect();
process.disconnect();

function connect(): Redis | Cluster {
  const { hostname, port } = new URL(address.replace(/,.*$/, ''));
  if (kind === 'cluster') return new Cluster([{ host: hostname, port: Number(port) }]);
  if (kind === 'sentinel') return new Redis({ ...sentinelOptions(address), maxRetriesPerRequest: 100 });
  return new Redis(address);
}
