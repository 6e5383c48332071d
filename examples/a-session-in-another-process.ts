// A session that continues elsewhere: the first agent is gone, the second finds everything in the store.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RuntimeContext } from '@x/core';
import { JsonSession } from '@x/core/node';
import { HarnessAgent } from '@x/harness';
import { ScriptedModel } from '@x/testkit';

const directory = mkdtempSync(join(tmpdir(), 'x-example-'));
const session = RuntimeContext.of({ userId: 'alice', sessionId: 's-001' });

/** As another process would build it: nothing but the directory is shared. */
function agentThatSays(text: string): HarnessAgent {
  return HarnessAgent.builder()
    .name('assistant')
    .model(new ScriptedModel([{ text }]))
    .workspace(join(directory, 'workspace'))
    .session(new JsonSession({ directory: join(directory, 'sessions') }))
    .build();
}

const first = agentThatSays('Nice to meet you, Alice.');
await first.call('My name is Alice', session);
await first.close();

const second = agentThatSays('You are Alice.');
const reply = await second.call('Who am I?', session);
const state = await second.state(session);
console.log(reply.text, `${state?.context.length} messages`);
await second.close();

rmSync(directory, { recursive: true });
if (state?.context.length !== 4) throw new Error('The conversation was lost.');
