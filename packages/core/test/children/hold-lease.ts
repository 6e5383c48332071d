// Takes the lease of a session, prints its fence, and holds it until it is killed.
import { SessionKey } from '../../src/index.js';
import { takeTurn } from '../../src/internal.js';
import { JsonSession } from '../../src/node.js';

const [directory = ''] = process.argv.slice(2);
const store = new JsonSession({ directory });
const turn = await takeTurn(store, SessionKey.of({ userId: 'u', sessionId: 's' }));
console.log(turn.fence);
process.stdin.resume();
