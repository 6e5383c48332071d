import { type Capability, ModelError, type Usage } from '@x/core';
import { JsonSession } from '@x/core/node';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { budget, HarnessAgent, spendingOf, subagents, subagentTasks } from '../../../src/index.js';
import { scratch } from '../../support.js';
import { blocksOf, context, held, parentWith, resultsOf, until } from './support.js';

const spawn = (agent: string) => ({ toolCalls: [{ name: 'agent_spawn', input: { agent, task: 'Work' } }] });
const down: ScriptEntry = {
  error: new ModelError('The service is down.', { modelId: 'main', retryable: false }),
};
const usage = (inputTokens: number): Usage => ({ inputTokens, outputTokens: 0 });

/** Answers of a lead that gives one task away, whichever of its models is asked. */
const leadScript = (agent: string) => [spawn(agent), { text: 'ok' }];

describe('the models that take over for an agent', () => {
  it('take over for its subagents, at every depth, and what they used up is counted under their name', async () => {
    const main = new ScriptedModel([...leadScript('worker').slice(0, 1), down, down, { text: 'ok' }], {
      id: 'main',
    });
    const second = new ScriptedModel(
      [
        { ...spawn('worker'), usage: usage(100) },
        { text: 'from below', usage: usage(10) },
        { text: 'RESULT', usage: usage(1) },
      ],
      { id: 'second' },
    );
    const reported: unknown[] = [];
    const agent = HarnessAgent.builder()
      .name('lead')
      .model(main, { fallback: [second] })
      .workspace(scratch())
      .settings({ maxRetries: 0 })
      .use(subagents([{ name: 'worker', description: 'Works' }], { settings: { maxRetries: 0 } }))
      .onEvent((event) => {
        if (event.type === 'usage.reported') reported.push([event.modelId, event.usage.inputTokens]);
      })
      .build();
    await agent.call('go', context);
    expect(resultsOf(main.requests.at(-1)?.messages ?? [], 'agent_spawn')[0]).toContain('RESULT');
    expect(reported).toEqual([
      ['second', 100],
      ['second', 10],
      ['second', 1],
    ]);
    await agent.close();
  });

  it('take over by the same rule, also for a subagent with a model of its own', async () => {
    const own = new ScriptedModel([down, down], { id: 'own' });
    const second = new ScriptedModel([{ text: 'RESULT' }], { id: 'second' });
    const asked: string[] = [];
    const outcomes: boolean[] = [];
    for (const mayFallBack of [true, false]) {
      const main = new ScriptedModel(leadScript('worker'), { id: 'main' });
      const agent = HarnessAgent.builder()
        .name('lead')
        .model(main, {
          fallback: [second],
          fallbackWhen: ({ model, next }) => {
            asked.push(`${model.id} to ${next.id}`);
            return mayFallBack;
          },
        })
        .workspace(scratch())
        .use(
          subagents([{ name: 'worker', description: 'Works', model: own }], { settings: { maxRetries: 0 } }),
        )
        .build();
      await agent.call('go', context);
      outcomes.push(blocksOf(main.requests[1]?.messages ?? [], 'agent_spawn')[0]?.isError === false);
      await agent.close();
    }
    expect(asked).toEqual(['own to second', 'own to second']);
    expect(outcomes).toEqual([true, false]);
  });
});

describe('what a subagent uses up', () => {
  it('counts for its parent’s budget: its steps, what else asks a model for it, and its own subagents', async () => {
    const leaf = new ScriptedModel([{ text: 'done', usage: usage(1) }], { id: 'leaf' });
    const middle = new ScriptedModel([
      { ...spawn('leaf'), usage: usage(20) },
      { text: 'done', usage: usage(20) },
    ]);
    // As a compaction or a memory does that asks a model.
    const asking: Capability = {
      name: 'asking',
      aroundReason(scope, next) {
        scope.emit({ type: 'usage.reported', source: 'asking', modelId: 'other', usage: usage(300) });
        return next();
      },
    };
    const agent = parentWith(
      new ScriptedModel([
        { ...spawn('middle'), usage: usage(4_000) },
        { text: 'ok', usage: usage(4_000) },
      ]),
      budget({ maxTokensPerSession: 1_000_000 }),
      subagents([
        {
          name: 'middle',
          description: 'Leads',
          model: middle,
          systemPrompt: 'You lead.',
          capabilities: [asking],
        },
        { name: 'leaf', description: 'Works', model: leaf },
      ]),
    ).build();
    await agent.call('go', context);
    const state = await agent.state(context);
    expect(state && spendingOf(state).tokens).toBe(8_000 + 40 + 1 + 3 * 300);
    await agent.close();
  });

  it('is estimated where its provider reports no usage', async () => {
    const worker = new ScriptedModel([{ text: 'word '.repeat(40), usage: 'none' }], { id: 'worker' });
    const agent = parentWith(
      new ScriptedModel([
        { ...spawn('worker'), usage: usage(100) },
        { text: 'ok', usage: usage(100) },
      ]),
      budget({ maxTokensPerSession: 1_000_000 }),
      subagents([{ name: 'worker', description: 'Works', model: worker }]),
    ).build();
    await agent.call('go', context);
    const state = await agent.state(context);
    expect(state && spendingOf(state).tokens).toBeGreaterThan(250);
    await agent.close();
  });

  it('between calls of its parent is counted when its end is told, in any process, and only once', async () => {
    const root = scratch();
    const store = new JsonSession({ directory: `${root}/json` });
    const work = held();
    const child = new ScriptedModel([async () => ({ ...(await work.reply()), usage: usage(70) })]);
    const spent = async (script: readonly ScriptEntry[]) => {
      const agent = parentWith(
        new ScriptedModel(script.map((entry) => ({ ...entry, usage: usage(1_000) }))),
        budget({ maxTokensPerSession: 1_000_000 }),
        subagents([{ name: 'worker', description: 'Works', model: child }]),
      )
        .workspace(root)
        .session(store)
        .build();
      for (const _ of script.filter((entry) => 'text' in entry)) await agent.call('go', context);
      await work.started;
      work.release('RESULT');
      await until(async () => (await subagentTasks(store, agent.keyOf(context)))[0]?.status !== 'running');
      const state = await agent.state(context);
      await agent.close();
      return state && spendingOf(state).tokens;
    };
    const background = { name: 'agent_spawn', input: { agent: 'worker', task: 'Work', background: true } };
    expect(await spent([{ toolCalls: [background] }, { text: 'begun' }])).toBe(2_000);
    expect(await spent([{ text: 'and now?' }, { text: 'and then?' }])).toBe(4_070);
  });

  it('after its end, while no call of its parent runs, is counted at the next call', async () => {
    const late = held();
    const narrator: Capability = {
      name: 'narrator',
      aroundReason(scope, next) {
        scope.background('narrator', async () => {
          await late.reply();
          scope.emit({ type: 'usage.reported', source: 'narrator', modelId: 'm', usage: usage(70) });
        });
        return next();
      },
    };
    const agent = parentWith(
      new ScriptedModel([
        { ...spawn('worker'), usage: usage(1_000) },
        { text: 'ok', usage: usage(1_000) },
        { text: 'next', usage: usage(1_000) },
      ]),
      budget({ maxTokensPerSession: 1_000_000 }),
      subagents([
        {
          ...{ name: 'worker', description: 'Works', capabilities: [narrator] },
          model: new ScriptedModel([{ text: 'RESULT', usage: usage(1) }]),
        },
      ]),
    ).build();
    await agent.call('go', context);
    late.release('');
    await late.started;
    await new Promise((resolve) => setImmediate(resolve));
    await agent.call('next', context);
    const state = await agent.state(context);
    expect(state && spendingOf(state).tokens).toBe(3_071);
    await agent.close();
  });
});
