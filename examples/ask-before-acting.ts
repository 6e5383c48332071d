// A human decides, perhaps tomorrow, perhaps on another machine: what waits for them is in the session, not in a process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool, RuntimeContext } from '@x/core';
import { JsonSession } from '@x/core/node';
import { HarnessAgent, pendingCalls, permissions } from '@x/harness';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { z } from 'zod';

const directory = mkdtempSync(join(tmpdir(), 'x-example-'));
const session = RuntimeContext.of({ userId: 'alice', sessionId: 's-001' });
const sent: string[] = [];

const sendMail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail',
  input: z.object({ to: z.string(), text: z.string() }),
  execute({ to, text }) {
    sent.push(`${to}: ${text}`);
    return 'Sent.';
  },
});

/** As each process builds it: nothing but the directory is shared. A scripted model stands in for a real one. */
function clerk(script: readonly ScriptEntry[]): HarnessAgent {
  return HarnessAgent.builder()
    .name('clerk')
    .model(new ScriptedModel(script))
    .workspace(join(directory, 'workspace'))
    .session(new JsonSession({ directory: join(directory, 'sessions') }))
    .tools(sendMail)
    .use(permissions({ deny: [{ tool: 'send_mail', input: { to: '*@rival.example' } }] }))
    .build();
}

// The first process asks, and is gone.
const first = clerk([
  {
    toolCalls: [
      { id: 'to-ann', name: 'send_mail', input: { to: 'ann@acme.example', text: 'You are hired.' } },
      { id: 'to-bob', name: 'send_mail', input: { to: 'bob@acme.example', text: 'You are fired.' } },
      { id: 'to-eve', name: 'send_mail', input: { to: 'eve@rival.example', text: 'Our secrets.' } },
    ],
  },
]);
const asked = await first.call('Write to the applicants', session);
console.log(asked.stopReason);
await first.close();

// The second finds in the session what waits, and hears the decisions.
const second = clerk([{ text: 'Ann has her letter.' }]);
const state = await second.state(session);
const [ann, bob] = pendingCalls(state);
console.log(ann?.input, bob?.input, bob?.reason);
const reply = await second.resume(session, {
  decisions: {
    [ann?.approvalId ?? '']: { type: 'edit', input: { to: 'ann@acme.example', text: 'Welcome, Ann!' } },
    [bob?.approvalId ?? '']: { type: 'deny', reason: 'Let us talk to Bob first.' },
  },
});
console.log(reply.text, sent);
await second.close();

rmSync(directory, { recursive: true });
if (sent.join() !== 'ann@acme.example: Welcome, Ann!') throw new Error('Something else was sent.');
