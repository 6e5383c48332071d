import { defineTool, InMemorySession, type Model, pairingOf, RuntimeContext, type StopReason } from '@x/core';
import { chaosModels, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { budget, HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const LIMITS = { modelFirstByteMs: 15, modelIdleMs: 15, modelMs: 30 };
const act = defineTool({
  name: 'act',
  description: 'Acts',
  input: { type: 'object' },
  execute: () => 'done',
});

/** Each way to call an agent. */
const OPTIONS = {
  'as it is': {},
  'with a stream': { streaming: true },
  'with a checkpoint each step and a budget': { checkpoint: 'step', streaming: true },
  'with a retry, continued where cut': { maxRetries: 1, continueTruncated: 1 },
  'with a model that takes over': { fallback: true, streaming: true },
  'with a step, and a tool at a time': { maxIterations: 1, maxParallelTools: 1, checkpoint: 'call' },
} as const;

it('numbers calls of one id apart, and runs each', async () => {
  const twice = chaosModels.find(({ name }) => name === 'one id for two calls of an answer');
  const agent = HarnessAgent.builder()
    .model(twice?.open() as Model)
    .tools(act)
    .workspace(scratch())
    .build();
  const { messages } = await agent.call('Hi', context);
  const blocks = messages.flatMap(({ content }) => content);
  expect(blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))).toEqual(['c', 'c_2']);
  expect(blocks.flatMap((block) => (block.type === 'tool_result' ? [block.toolUseId] : []))).toEqual([
    'c',
    'c_2',
  ]);
});

/** Models whose first answer calls a tool: another step would follow. */
const calls = /^(?!no ).*call/;
const REASONS: Readonly<Record<string, StopReason>> = {
  'a cut text': 'truncated',
  'a withheld answer': 'filtered',
  'a refusal': 'refused',
};

for (const [how, options] of Object.entries(OPTIONS)) {
  describe(`a call ${how} of a model`, () => {
    for (const { name, ends, open } of chaosModels) {
      it(`that ${ends}: ${name}`, async () => {
        const { streaming, fallback, ...settings } = { streaming: false, fallback: false, ...options };
        const session = new InMemorySession();
        const agent = HarnessAgent.builder()
          .model(open(), { fallback: fallback ? [new ScriptedModel([{ text: 'here' }])] : [] })
          .tools(act)
          .workspace(scratch())
          .session(session)
          .settings({ maxRetries: 0, retryDelayMs: 0, ...settings })
          .limits(LIMITS)
          .use(budget({ maxTokensPerCall: 1_000 }))
          .build();
        const call = streaming ? agent.stream('Hi', context).reply : agent.call('Hi', context);
        const outcome = await Promise.allSettled([call]);
        if (ends === 'fails' && !fallback)
          expect(outcome).toMatchObject([{ status: 'rejected', reason: expect.anything() }]);
        else {
          const last = 'maxIterations' in settings && calls.test(name) ? 'max_iterations' : 'completed';
          const stopReason = ends === 'stalls' && !fallback ? 'timed_out' : (REASONS[name] ?? last);
          expect(outcome).toMatchObject([{ status: 'fulfilled', value: { stopReason } }]);
        }
        const next = HarnessAgent.builder()
          .model(new ScriptedModel([{ text: 'on' }]))
          .workspace(scratch())
          .session(session)
          .build();
        expect((await next.call('Go on', context)).text).toBe('on');
        const messages = (await next.state(context))?.context ?? [];
        const { orphanCalls, orphanResults, open: unanswered } = pairingOf(messages);
        expect([orphanCalls.size, orphanResults.size, unanswered.size]).toEqual([0, 0, 0]);
        await Promise.all([agent.close(), next.close()]);
      });
    }
  });
}
