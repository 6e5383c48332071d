import { compaction, maskOutputs } from '@x/compaction';
import { defineTool, RuntimeContext, textOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../src/index.js';
import { scratch } from './support.js';

const report = (title: string) => `${title}\n${'a line of the report\n'.repeat(40)}`;
const tool = (name: string, says: { readonly readOnly?: boolean; readonly destructive?: boolean }) =>
  defineTool({
    name,
    description: name,
    input: z.object({ path: z.string().optional() }),
    execute: () => report(name),
    ...says,
  });

it('masked calls say what their tools say of themselves: not to be repeated', async () => {
  const call = (name: string, input: { path?: string } = {}) => ({ toolCalls: [{ name, input }] });
  const model = new ScriptedModel([call('drop_tables'), call('tidy'), { text: 'done' }, { text: 'yes' }], {
    contextWindow: 100_000,
  });
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .tools(tool('drop_tables', { destructive: true }), tool('tidy', {}))
    .use(
      compaction({
        model: null,
        stages: [maskOutputs({ keepRecentToolOutputs: 0 }), 'drop_oldest'],
      }),
    )
    .build();
  const context = RuntimeContext.of({ sessionId: 's' });
  await agent.call('Begin', context);
  await agent.compact(context);
  await agent.call('Still there?', context);

  const [dropped, tidied] = (model.requests.at(-1)?.messages ?? [])
    .filter(({ role }) => role === 'tool')
    .map((message) => textOf(message));
  expect(dropped).toMatch(/^\[drop_tables → ok, 41 lines, .*; done, do not repeat; /);
  expect(tidied).toMatch(/^\[tidy → ok, 41 lines, \d+ bytes; full text: recall r\d+\]$/);
  await agent.close();
});
