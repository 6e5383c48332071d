import { randomUUID } from 'node:crypto';
import { createClient, createCluster } from 'redis';
import { inject, onTestFinished } from 'vitest';
import { fromNodeRedis } from '../../src/index.js';

/** A client of node-redis that ends with the test. */
export async function nodeRedisClient() {
  const client = createClient({ url: inject('redisUrl') });
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  await client.connect();
  return { client: fromNodeRedis(client), keyPrefix: `test:${randomUUID()}:`, raw: client };
}

/** The same of the cluster. */
export async function nodeRedisCluster() {
  const client = createCluster({ rootNodes: [{ url: inject('redisClusterUrl') }] });
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  await client.connect();
  return { client: fromNodeRedis(client), keyPrefix: `test:${randomUUID()}:` };
}
