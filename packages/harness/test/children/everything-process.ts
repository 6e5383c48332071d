// An agent with every capability, that continues with its session until it has taken so many rounds, whichever process
// began it. Says each round; pays in a file, so that what was paid twice can be seen.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool, type ModelRequest, RuntimeContext, storageOf } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import type { ScriptedAnswer } from '@x/testkit';
import { z } from 'zod';
import { everything } from '../all-together/everything.js';
import { entries, interleave, ROUNDS_OF } from '../all-together/rounds.js';

const [directory = '', rounds = '0'] = process.argv.slice(2);
const context = RuntimeContext.of({ userId: 'alice', sessionId: 's' });
const roundsFile = join(directory, 'rounds.txt');
const paidFile = join(directory, 'paid.txt');
const taken = () => (existsSync(roundsFile) ? readFileSync(roundsFile, 'utf8').length : 0);

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => {
    appendFileSync(paidFile, `${amount}\n`);
    return `paid ${amount}`;
  },
});
const pool = entries(interleave(Object.values(ROUNDS_OF).flat(), 100));
const reply = (request: ModelRequest): ScriptedAnswer => {
  const round = taken();
  if (round >= Number(rounds)) return { text: 'all done' };
  appendFileSync(roundsFile, '.');
  console.log(`round ${round}`);
  if (round % 5 === 4) return { toolCalls: [{ id: `pay-${round}`, name: 'pay', input: { amount: round } }] };
  const { toolCalls = [] } = pool[(round - Math.floor(round / 5)) % pool.length]?.(request) ?? {};
  // Ids are never used again, as with providers, also not by the next process.
  return { toolCalls: toolCalls.map((use, index) => ({ ...use, id: `use-${round}-${index}` })) };
};

const { agent } = await everything({
  directory,
  session: new WorkspaceSession(storageOf(new LocalWorkspace(directory))),
  script: [{ when: () => true, reply, times: Number.POSITIVE_INFINITY }],
  pay,
});
const before = await agent.state(context);
let last = await (before?.activeCall || before?.permissionContext.pending
  ? agent.resume(context)
  : agent.call('Use everything', context));
while (last.stopReason === 'permission_required') {
  const decisions = Object.fromEntries(
    last.pendingCalls.map(({ approvalId }) => [approvalId, { type: 'approve' } as const]),
  );
  last = await agent.resume(context, { decisions });
}
console.log(`ended: ${last.stopReason}`);
await agent.close();
