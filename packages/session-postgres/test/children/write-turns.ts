// Writes turns into this table, and reports those whose commit succeeded.
import { type TurnPlan, writeTurns } from '@x/test-support';
import { Pool } from 'pg';
import { PostgresSession } from '../../src/index.js';

const [connectionString = '', table = '', plan = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString });
// What ends a connection that nobody uses is none of the turns'.
pool.on('error', () => {});
await writeTurns(new PostgresSession({ pool, table }), JSON.parse(plan) as TurnPlan);
await pool.end();
process.disconnect();
