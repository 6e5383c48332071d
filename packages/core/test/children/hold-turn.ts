// Holds the turn of a session: prints `uncertain`, `certain`, and `lost` with the code of the error that ends it. At the line `commit`
// it adds a message and prints what became of that, at `block` its loop stands still, in one block and then in slices.
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSession, SessionKey, userMessage, XError } from '../../src/index.js';
import { takeTurn } from '../../src/internal.js';
import { JsonSession } from '../../src/node.js';

const [directory = '', blockMs = '0'] = process.argv.slice(2);
const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const store = new JsonSession({ directory });
const processTtlMs = 1_000;
const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const codeOf = (error: unknown) => (XError.isInstance(error) ? error.code : String(error));
const onUncertain = (isOver: boolean) => console.log(isOver ? 'certain' : 'uncertain');
const turn = await takeTurn(store, key, { processTtlMs, onUncertain });
const session = await openSession(turn.guard(store), key, { fence: turn.fence });
turn.lost.addEventListener('abort', () => console.log(`lost ${codeOf(turn.lost.reason)}`));
console.log('begun');
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'block') {
    block(Number(blockMs));
    for (let slice = 0; slice < 10; slice++) {
      block(Number(blockMs) / 10);
      await sleep(1);
    }
    await turn.certain();
    console.log('unblocked');
  } else {
    session.state.contextMutable().push(userMessage('of the child', { id: 'child' }));
    console.log(await session.commit().then((version) => `stored ${version}`, codeOf));
  }
}
