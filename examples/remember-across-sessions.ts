// What a user says in one session is known in the next: conversations are flushed into the note of the day, and notes
// merged into MEMORY.md, in the background.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RuntimeContext } from '@x/core';
import { HarnessAgent } from '@x/harness';
import { memory, sessionHistory } from '@x/memory';
import { ScriptedModel } from '@x/testkit';

const workspace = mkdtempSync(join(tmpdir(), 'x-example-'));

/** A process: an agent that answers once in a session and closes. */
async function say(
  text: string,
  sessionId: string,
  answers: ScriptedModel,
  keeper: ScriptedModel,
): Promise<void> {
  const agent = HarnessAgent.builder()
    .name('coder')
    .model(answers)
    .workspace(workspace)
    // A small model is enough to keep the memory. Left out, the agent's own does it; with `null` none is needed.
    .use(memory({ model: keeper }), sessionHistory())
    .onEvent((event) => {
      if (event.type.startsWith('memory.')) console.log(event.type);
    })
    .build();
  await agent.call(text, RuntimeContext.of({ userId: 'alice', sessionId }));
  // The reply did not wait for the memory; closing does.
  await agent.close();
}

const first = new ScriptedModel([{ text: 'Noted.' }]);
const keeper = new ScriptedModel([
  { when: /<transcript>/, reply: { text: '- Alice wants PostgreSQL 17 for every new service [#1]' } },
  { when: /<notes>/, reply: { text: 'ADD n1: Wants PostgreSQL 17 for every new service' } },
]);
await say('From now on, use PostgreSQL 17 for every new service.', 'monday', first, keeper);

const second = new ScriptedModel([{ text: 'PostgreSQL 17, as always.' }]);
const silent = new ScriptedModel([{ text: 'NO_REPLY' }]);
await say('Which database do we take?', 'tuesday', second, silent);

console.log(readFileSync(join(workspace, '.x/users/alice/agents/coder/MEMORY.md'), 'utf8'));
const known = second.requests[0]?.system ?? '';
rmSync(workspace, { recursive: true });
if (!known.includes('PostgreSQL 17'))
  throw new Error('The second session does not know what the first one learned.');
