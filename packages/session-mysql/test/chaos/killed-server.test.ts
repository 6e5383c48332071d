import { checkPausedHolder, checkTurns, runWriters, type SeverableProxy, severableProxy } from '@x/testkit';
import { createPool, type Pool } from 'mysql2/promise';
import { afterAll, beforeAll, it } from 'vitest';
import { chaosLoad, DISTURBED, writerOf } from '../../../../tooling/chaos.js';
import { durableMariadb } from '../../../../tooling/services/mariadb.js';
import { resolve } from '../../../../tooling/services/resolve.js';
import type { Running } from '../../../../tooling/services/service.js';
import { ownServers } from '../../../../tooling/services/strategies.js';
import { MysqlSession } from '../../src/index.js';

const TIMEOUT = 600_000;

let server: Running;
let proxy: SeverableProxy;
let pool: Pool;
beforeAll(async () => {
  server = await resolve(durableMariadb, ownServers);
  const { hostname, port } = new URL(server.address);
  proxy = await severableProxy(hostname, Number(port));
  pool = createPool(server.address);
}, TIMEOUT);
afterAll(async () => {
  await pool?.end();
  await proxy?.close();
  await server?.stop();
});

/** A store with tables of its own, and how processes are started that write to it through the proxy. */
async function storeOf(table: string) {
  const store = new MysqlSession({ pool, table });
  await store.migrate();
  const address = new URL(server.address);
  Object.assign(address, { hostname: '127.0.0.1', port: String(proxy.port) });
  const program = new URL('../children/write-turns.ts', import.meta.url);
  return { store, start: writerOf(program, address.href, table) };
}

it.each([
  ['by the procedure', true],
  ['without it', false],
])(
  'a server and writers that are killed, and packets that are lost or late, lose and double no turn (%s)',
  { timeout: TIMEOUT },
  async (_, hasProcedure) => {
    const table = hasProcedure ? 'called' : 'not_called';
    const { store, start } = await storeOf(table);
    if (!hasProcedure) await pool.query(`DROP PROCEDURE ${table}_append_3`);
    const crash = async () => server.crash?.();
    proxy.disturb(DISTURBED);
    const history = await runWriters({ ...chaosLoad, seed: 4, start, disruptions: [crash, crash] });
    await checkTurns(store, chaosLoad, history);
  },
);

it('a holder that is stopped for longer than its lease commits nothing when it goes on', {
  timeout: TIMEOUT,
}, async () => {
  proxy.disturb(Number.POSITIVE_INFINITY);
  const { store, start } = await storeOf('paused');
  await checkPausedHolder(store, start);
});
