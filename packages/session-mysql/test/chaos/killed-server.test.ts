import { checkPausedHolder, checkTurns, runWriters } from '@x/test-support';
import { type ChaoticServer, chaosLoad, chaoticServer, writerOf } from '@x/test-support/servers';
import { createPool, type Pool } from 'mysql2/promise';
import { afterAll, beforeAll, it } from 'vitest';
import { durableMariadb } from '../../../../tooling/services/mariadb.js';
import { MysqlSession } from '../../src/index.js';

const TIMEOUT = 600_000;

let server: ChaoticServer;
let pool: Pool;
beforeAll(async () => {
  server = await chaoticServer(durableMariadb);
  pool = createPool(server.address);
}, TIMEOUT);
afterAll(async () => {
  await pool?.end();
  await server?.stop();
});

/** A store with tables of its own, and how processes are started that write to it through the proxy. */
async function storeOf(table: string) {
  const store = new MysqlSession({ pool, table });
  await store.createTables();
  const program = new URL('../children/write-turns.ts', import.meta.url);
  return { store, start: writerOf(program, server.proxied, table) };
}

it('a server and writers that are killed, and packets that are lost or late, lose and double no turn', {
  timeout: TIMEOUT,
}, async () => {
  const { store, start } = await storeOf('killed');
  server.disturb(true);
  const history = await runWriters({
    ...chaosLoad,
    seed: 4,
    start,
    disruptions: [server.crash, server.crash],
  });
  await checkTurns(store, chaosLoad, history);
});

it('a holder that is stopped for longer than its lease commits nothing when it goes on', {
  timeout: TIMEOUT,
}, async () => {
  server.disturb(false);
  const { store, start } = await storeOf('paused');
  await checkPausedHolder(store, start);
});
