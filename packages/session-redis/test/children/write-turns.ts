// Writes turns into the Redis at this address, and reports those that it has confirmed.
import type { Session } from '@x/core';
import { WorkspaceSession } from '@x/core/node';
import { type TurnPlan, writeTurns } from '@x/test-support';
import { Cluster, Redis } from 'ioredis';
import { RedisSession, RedisWorkspace } from '../../src/index.js';
import { commitToReplica } from '../support/commit-to-replica.js';
import { sentinelOptions } from '../support/sentinel.js';

const [kind = '', address = '', plan = ''] = process.argv.slice(2);
const client = connect();
// ioredis connects again by itself.
client.on('error', () => {});
const store =
  kind === 'files' ? new WorkspaceSession(new RedisWorkspace({ client })) : new RedisSession({ client });
await writeTurns(store, JSON.parse(plan) as TurnPlan, kind === 'sentinel' ? confirm : undefined);
client.disconnect();
process.disconnect();

/** The turn is stored by now; what is left is to ask the replica. */
async function confirm(): Promise<boolean> {
  return client instanceof Redis && commitToReplica({ commit: async () => 0 } as unknown as Session, client);
}

function connect(): Redis | Cluster {
  const { hostname, port } = new URL(address.replace(/,.*$/, ''));
  if (kind === 'cluster') return new Cluster([{ host: hostname, port: Number(port) }]);
  if (kind === 'sentinel') return new Redis({ ...sentinelOptions(address), maxRetriesPerRequest: 100 });
  return new Redis(address, { retryStrategy: () => 50 });
}
