// An answer of a form: validated, typed, and sent back to the model when it is not valid.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool } from '@x/core';
import { HarnessAgent } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { z } from 'zod';

const Invoice = z.object({
  customer: z.string(),
  lines: z.array(z.object({ item: z.string(), cents: z.number().int() })),
  total: z.number().int().describe('in cents'),
});

const price = defineTool({
  name: 'price',
  description: 'The price of an item in cents',
  readOnly: true,
  input: z.object({ item: z.string() }),
  execute: ({ item }) => String(item.length * 100),
});

const lines = [
  { item: 'screws', cents: 600 },
  { item: 'nails', cents: 500 },
];
// A scripted model stands in for a real one; it forgets the total at first.
const model = new ScriptedModel([
  { toolCalls: lines.map(({ item }) => ({ name: 'price', input: { item } })) },
  { toolCalls: [{ name: 'final_answer', input: { customer: 'Alice', lines } }] },
  { toolCalls: [{ name: 'final_answer', input: { customer: 'Alice', lines, total: 1_100 } }] },
]);

const workspace = mkdtempSync(join(tmpdir(), 'x-example-'));
const agent = HarnessAgent.builder()
  .model(model)
  .workspace(workspace)
  .tools(price)
  .onEvent((event) => {
    if (event.type === 'output.rejected') console.log(`Sent back: ${event.error}`);
  })
  .build();

const reply = await agent.call('Write the invoice for Alice', undefined, { output: Invoice });
await agent.close();
rmSync(workspace, { recursive: true });

if (reply.stopReason !== 'completed') throw new Error(`The call ended with ${reply.stopReason}.`);
const { customer, total } = reply.output;
console.log(`${customer} owes ${total / 100}`);
