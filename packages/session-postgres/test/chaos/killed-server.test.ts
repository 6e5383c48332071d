import { checkPausedHolder, checkTurns, runWriters, type SeverableProxy, severableProxy } from '@x/testkit';
import { Pool } from 'pg';
import { afterAll, beforeAll, it } from 'vitest';
import { chaosLoad, DISTURBED, writerOf } from '../../../../tooling/chaos.js';
import { durablePostgres } from '../../../../tooling/services/postgres.js';
import { resolve } from '../../../../tooling/services/resolve.js';
import type { Running } from '../../../../tooling/services/service.js';
import { ownServers } from '../../../../tooling/services/strategies.js';
import { PostgresSession } from '../../src/index.js';

const TIMEOUT = 600_000;

let server: Running;
let proxy: SeverableProxy;
let pool: Pool;
beforeAll(async () => {
  server = await resolve(durablePostgres, ownServers);
  const { hostname, port } = new URL(server.address);
  proxy = await severableProxy(hostname, Number(port));
  pool = new Pool({ connectionString: server.address });
  pool.on('error', () => {});
}, TIMEOUT);
afterAll(async () => {
  await pool?.end();
  await proxy?.close();
  await server?.stop();
});

/** A store with tables of its own, and how processes are started that write to it through the proxy. */
async function storeOf(table: string) {
  const store = new PostgresSession({ pool, table });
  await store.migrate();
  const address = new URL(server.address);
  Object.assign(address, { hostname: '127.0.0.1', port: String(proxy.port) });
  const program = new URL('../children/write-turns.ts', import.meta.url);
  return { store, start: writerOf(program, address.href, table) };
}

it('a server and writers that are killed, and packets that are lost or late, lose and double no turn', {
  timeout: TIMEOUT,
}, async () => {
  const { store, start } = await storeOf('written');
  const crash = async () => server.crash?.();
  proxy.disturb(DISTURBED);
  const history = await runWriters({ ...chaosLoad, seed: 11, start, disruptions: [crash, crash] });
  await checkTurns(store, chaosLoad, history);
});

it('a holder that is stopped for longer than its lease commits nothing when it goes on', {
  timeout: TIMEOUT,
}, async () => {
  proxy.disturb(Number.POSITIVE_INFINITY);
  const { store, start } = await storeOf('paused');
  await checkPausedHolder(store, start);
});
