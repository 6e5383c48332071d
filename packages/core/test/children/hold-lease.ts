// Takes the lease of a session, prints its fence, and holds it until it is killed.
import { SessionKey } from '../../src/index.js';
import { JsonSession, LocalWorkspace, WorkspaceSession } from '../../src/node.js';

const [kind = '', directory = ''] = process.argv.slice(2);
const store =
  kind === 'json' ? new JsonSession({ directory }) : new WorkspaceSession(new LocalWorkspace(directory));
const lease = await store.lease(SessionKey.of({ userId: 'u', sessionId: 's' }), { ttlMs: 3_600_000 });
console.log(lease?.fence);
process.stdin.resume();
