// Holds the turn of a session: prints `renewed` for each renewal and `lost` with the code of the error that ends it. At the
// line `commit` it adds a message and prints what became of that, at `block` it stands still in its next renewal.
import { createInterface } from 'node:readline';
import { openSession, SessionKey, userMessage, XError } from '../../src/index.js';
import { takeTurn } from '../../src/internal.js';
import { JsonSession, LocalWorkspace, WorkspaceSession } from '../../src/node.js';
import type { SessionLease } from '../../src/store.js';

const [kind = '', directory = '', blockMs = '0'] = process.argv.slice(2);
const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const inner =
  kind === 'json' ? new JsonSession({ directory }) : new WorkspaceSession(new LocalWorkspace(directory));
let blocks = false;
const renewed = async (lease: SessionLease) => {
  const renewal = lease.renew();
  if (blocks) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockMs));
  blocks = false;
  await renewal;
  console.log('renewed');
};
const grant = inner.lease.bind(inner);
inner.lease = async (...parameters) => {
  const lease = await grant(...parameters);
  return lease && { ...lease, renew: () => renewed(lease) };
};

const codeOf = (error: unknown) => (XError.isInstance(error) ? error.code : String(error));
const turn = await takeTurn(inner, key);
const session = await openSession(inner, key, { fence: turn.fence });
turn.lost.addEventListener('abort', () => console.log(`lost ${codeOf(turn.lost.reason)}`));
console.log('begun');
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'block') blocks = true;
  else {
    session.state.contextMutable().push(userMessage('of the child', { id: 'child' }));
    console.log(await session.commit().then((version) => `stored ${version}`, codeOf));
  }
}
