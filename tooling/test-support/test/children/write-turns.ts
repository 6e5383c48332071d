// Writes turns into the files of this directory, and reports each turn to the parent process.
import { JsonSession } from '@x/core/node';
import { type TurnPlan, writeTurns } from '../../src/index.js';

const [directory = '', plan = ''] = process.argv.slice(2);
const store = new JsonSession({ directory });
await writeTurns(store, JSON.parse(plan) as TurnPlan);
process.disconnect();
