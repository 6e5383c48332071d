import { randomUUID } from 'node:crypto';
import { Cluster } from 'ioredis';
import { inject, onTestFinished } from 'vitest';

/** A client of the cluster. */
function clusterClient(options: { readonly keyPrefix?: string } = {}): Cluster {
  const { hostname, port } = new URL(inject('redisClusterUrl'));
  const client = new Cluster([{ host: hostname, port: Number(port) }], options);
  client.on('error', () => {});
  return client;
}

/** A client that ends with the test, and a prefix of its own. */
export function testCluster(options: { readonly keyPrefix?: string } = {}) {
  const client = clusterClient(options);
  onTestFinished(() => client.disconnect());
  return { client, keyPrefix: `test:${randomUUID()}:` };
}
