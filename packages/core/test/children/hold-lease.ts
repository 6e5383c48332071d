// Takes the lease of a session, prints its fence, and holds it until it is killed.
import { SessionKey } from '../../src/index.js';
import { takeTurn } from '../../src/internal.js';
import { JsonSession, LocalWorkspace, WorkspaceSession } from '../../src/node.js';

const [kind = '', directory = ''] = process.argv.slice(2);
const store =
  kind === 'json' ? new JsonSession({ directory }) : new WorkspaceSession(new LocalWorkspace(directory));
const turn = await takeTurn(store, SessionKey.of({ userId: 'u', sessionId: 's' }));
console.log(turn.fence);
process.stdin.resume();
