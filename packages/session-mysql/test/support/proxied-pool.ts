import { type SeverableProxy, severableProxy } from '@x/test-support';
import { createPool, type Pool } from 'mysql2/promise';
import { inject, onTestFinished } from 'vitest';

/** A pool whose connections can be cut; both end with the test. */
export async function proxiedPool(): Promise<{ readonly proxy: SeverableProxy; readonly pool: Pool }> {
  const url = new URL(inject('mysqlUrl'));
  const proxy = await severableProxy(url.hostname, Number(url.port));
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  const pool = createPool(url.href);
  onTestFinished(async () => {
    await pool.end().catch(() => {});
    await proxy.close();
  });
  return { proxy, pool };
}
