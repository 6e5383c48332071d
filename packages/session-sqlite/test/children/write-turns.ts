// Writes turns into this file, and reports those whose commit succeeded.
import { type TurnPlan, writeTurns } from '@x/test-support';
import { SqliteSession } from '../../src/index.js';

const [file = '', plan = ''] = process.argv.slice(2);
const store = new SqliteSession({ file });
await writeTurns(store, JSON.parse(plan) as TurnPlan);
await store.close();
process.disconnect();
