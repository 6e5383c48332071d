import { compaction } from '@x/compaction';
import { defineTool, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

it.each([
  '{"db":"shop","password":["hunterTwice"]}',
  JSON.stringify({ db: 'shop', credentials: { token: { value: 'hunterTwice' } } }, null, 2),
])('a secret that a tool returns in %s is in no summary of the log', async (output) => {
  const tool = defineTool({
    name: 'get_config',
    description: 'Reads a part',
    readOnly: true,
    input: z.object({ part: z.number() }),
    execute: ({ part }) => (part === 0 ? output : `${part}: ${'word '.repeat(400)}`),
  });
  const calls = Array.from({ length: 30 }, (_, part) => ({
    toolCalls: [{ name: 'get_config', input: { part } }],
  }));
  const agent = HarnessAgent.builder()
    .model(new ScriptedModel([...calls, { text: 'done' }], { contextWindow: 8_000 }))
    .workspace(scratch())
    .tools(tool)
    .use(compaction({ model: null, keep: { messages: 4 } }))
    .build();
  const context = RuntimeContext.of({ sessionId: 's' });
  await agent.call('Look at the database', context);
  const { context: view = [], summary } = (await agent.state(context)) ?? {};
  const logged = [];
  for await (const message of agent.log(context).read()) if (message.role !== 'tool') logged.push(message);
  expect(JSON.stringify(view)).toContain('db shop');
  for (const told of [view, summary, logged]) expect(JSON.stringify(told)).not.toContain('hunterTwice');
});
