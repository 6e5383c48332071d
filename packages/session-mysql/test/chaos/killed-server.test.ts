import { fork } from 'node:child_process';
import { join } from 'node:path';
import { checkTurns, runWriters } from '@x/testkit';
import { createPool } from 'mysql2/promise';
import { expect, it, onTestFinished } from 'vitest';
import { durableMariadb } from '../../../../tooling/services/mariadb.js';
import { resolve } from '../../../../tooling/services/resolve.js';
import { ownServers } from '../../../../tooling/services/strategies.js';
import { MysqlSession } from '../../src/index.js';

const TIMEOUT = 600_000;
const program = join(import.meta.dirname, '../children/write-turns.ts');

/** `CHAOS=full` is the whole of it, which takes minutes. */
const load =
  process.env.CHAOS === 'full'
    ? { sessions: 200, turns: 20, writers: 4, kills: 12 }
    : { sessions: 12, turns: 6, writers: 3, kills: 2 };

it.each([
  ['by the procedure', true],
  ['without it', false],
])(
  'a server that is killed, and writers that are, lose no acknowledged turn (%s)',
  {
    timeout: TIMEOUT,
  },
  async (_, hasProcedure) => {
    const server = await resolve(durableMariadb, ownServers);
    onTestFinished(server.stop);
    const pool = createPool(server.address);
    onTestFinished(() => pool.end());
    const store = new MysqlSession({ pool });
    await store.migrate();
    if (!hasProcedure) await pool.query('DROP PROCEDURE agent_sessions_append_3');
    const crash = async () => server.crash?.();
    const acknowledged = await runWriters({
      ...load,
      seed: 4,
      start: (plan) =>
        fork(program, [server.address, JSON.stringify(plan)], {
          execArgv: ['--conditions=@x/source', '--import', 'tsx'],
        }),
      disruptions: [crash, crash],
    });
    expect(acknowledged.length).toBeGreaterThan((load.sessions * load.turns) / 2);
    await checkTurns(store, load, acknowledged);
  },
);
