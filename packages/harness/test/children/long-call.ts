// Runs a call whose tool never ends, and closes the agent when it is told to stop.
import { defineTool, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { z } from 'zod';
import { HarnessAgent, shutdownOnSignals } from '../../src/index.js';

const [directory = ''] = process.argv.slice(2);
const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });
const migrate = defineTool({
  name: 'migrate',
  description: '',
  input: z.object({}),
  execute: () => {
    console.log('tool running');
    return new Promise<string>(() => {});
  },
});
const agent = HarnessAgent.builder()
  .name('coder')
  .model(new ScriptedModel([{ text: 'On it', toolCalls: [{ name: 'migrate', input: {} }] }]))
  .tools(migrate)
  .workspace(directory)
  .build();
shutdownOnSignals(agent, { drainMs: 0 });
// What keeps a server alive; the shutdown has to end it all the same.
setInterval(() => {}, 1000);
process.on('SIGTERM', () => {
  agent.call('One more', context).catch((error) => console.log(`refused: ${error.code}`));
});
const reply = await agent.call('Migrate the database', context);
console.log(`stopped: ${reply.stopReason}`);
