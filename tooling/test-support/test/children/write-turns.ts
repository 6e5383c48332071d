// Writes turns into the files of this directory, and tells of each.
import { JsonSession, LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { type TurnPlan, writeTurns } from '../../src/index.js';

const [kind = '', directory = '', plan = ''] = process.argv.slice(2);
const store =
  kind === 'json' ? new JsonSession({ directory }) : new WorkspaceSession(new LocalWorkspace(directory));
await writeTurns(store, JSON.parse(plan) as TurnPlan);
process.disconnect();
