import { defineTool, type Model, RuntimeContext } from '@x/core';
import { chaosModels } from '@x/test-support';
import { chaosSuite } from '@x/test-support/suites';
import { expect, it } from 'vitest';
import { budget, HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

chaosSuite({
  name: 'HarnessAgent',
  models: chaosModels,
  build: ({ model, fallback, tools, session, settings, limits, maxTokensPerCall }) =>
    HarnessAgent.builder()
      .model(model, { fallback })
      .tools(...tools)
      .workspace(scratch())
      .session(session)
      .settings(settings)
      .limits(limits)
      .use(...(maxTokensPerCall === undefined ? [] : [budget({ maxTokensPerCall })]))
      .build(),
});

it('numbers calls of one id apart, and runs each', async () => {
  const act = defineTool({
    name: 'act',
    description: 'Acts',
    input: { type: 'object' },
    execute: () => 'done',
  });
  const twice = chaosModels.find(({ name }) => name === 'one id for two calls of an answer');
  const agent = HarnessAgent.builder()
    .model(twice?.open() as Model)
    .tools(act)
    .workspace(scratch())
    .build();
  const { messages } = await agent.call('Hi', RuntimeContext.of({ sessionId: 's' }));
  const blocks = messages.flatMap(({ content }) => content);
  const ids = blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
  expect(ids).toEqual(['c', expect.stringMatching(/^c_[0-9a-f]{8}$/)]);
  expect(blocks.flatMap((block) => (block.type === 'tool_result' ? [block.toolUseId] : []))).toEqual(ids);
});
