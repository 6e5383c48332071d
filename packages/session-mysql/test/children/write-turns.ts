// Writes turns into the database at this address, and reports those whose commit succeeded.
import { type TurnPlan, writeTurns } from '@x/test-support';
import { createPool } from 'mysql2/promise';
import { MysqlSession } from '../../src/index.js';

const [address = '', table = '', plan = ''] = process.argv.slice(2);
const pool = createPool(address);
await writeTurns(new MysqlSession({ pool, table }), JSON.parse(plan) as TurnPlan);
await pool.end();
process.disconnect();
