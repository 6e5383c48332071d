import { severableProxy } from '@x/test-support';
import { Redis } from 'ioredis';
import { inject, onTestFinished } from 'vitest';

interface Retrying {
  readonly maxRetriesPerRequest?: number;
  retryStrategy(): number | null;
}

/** A client whose connection can be broken; both end with the test. */
export async function proxiedClient(options: Retrying) {
  const { hostname, port } = new URL(inject('redisUrl'));
  const proxy = await severableProxy(hostname, Number(port));
  const client = new Redis(proxy.port, '127.0.0.1', options);
  client.on('error', () => {});
  onTestFinished(async () => {
    client.disconnect();
    await proxy.close();
  });
  return { proxy, client };
}
