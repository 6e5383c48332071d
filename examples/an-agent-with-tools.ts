// An agent with a tool of its own, a small window and compaction. A scripted model stands in for a real one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compaction, toolResultEviction } from '@x/compaction';
import { defineTool, RuntimeContext } from '@x/core';
import { HarnessAgent, todoList, workspaceTools } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { z } from 'zod';

const workspace = mkdtempSync(join(tmpdir(), 'x-example-'));

const inventory = defineTool({
  name: 'inventory',
  description: 'What is on a shelf',
  readOnly: true,
  input: z.object({ shelf: z.number().int() }),
  execute: ({ shelf }) => `Shelf ${shelf}: ${'screws, '.repeat(150)}nails`,
});

const model = new ScriptedModel(
  [
    ...Array.from({ length: 20 }, (_, shelf) => ({ toolCalls: [{ name: 'inventory', input: { shelf } }] })),
    { text: 'Twenty shelves, all of them screws and nails.' },
  ],
  { contextWindow: 4_000 },
);

const agent = HarnessAgent.builder()
  .name('storekeeper')
  .model(model)
  .workspace(workspace)
  .tools(inventory)
  .use(compaction({ model: null, keep: { tokens: 800 } }), toolResultEviction(), todoList(), workspaceTools())
  .build();

const session = RuntimeContext.of({ userId: 'alice', sessionId: 's-001' });
let compactions = 0;
for await (const event of agent.stream('What is on the shelves?', session)) {
  if (event.type === 'context.compacted' && event.status === 'applied') {
    compactions++;
    console.log(`${event.stagesUsed}: ${event.tokensBefore} → ${event.tokensAfter} tokens`);
  }
}
console.log((await agent.state(session))?.context.at(-1));

let logged = 0;
for await (const _ of agent.log(session).read()) logged++;
console.log(`${compactions} compactions, and all ${logged} messages are in the log.`);

await agent.close();
rmSync(workspace, { recursive: true });
if (compactions === 0 || logged < 42) throw new Error('Nothing was compacted, or something was lost.');
