import { compaction } from '@x/compaction';
import {
  type AgentEvent,
  type Capability,
  defineTool,
  estimateCounter,
  InMemorySession,
  InvalidInputError,
  RuntimeContext,
} from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { BudgetConfig } from '../../../src/capabilities/budget/budget.js';
import { budget, HarnessAgent, spendingOf } from '../../../src/index.js';
import { collect, isPaired, scratch } from '../../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const usage = { inputTokens: 90, outputTokens: 10 };
const WORK = { toolCalls: [{ name: 'work', input: {} }], usage };
const DONE = { text: 'done', usage };
const PRICES = { scripted: { input: 1_000_000, output: 2_000_000, cachedInput: 100_000 } };

const work = defineTool({
  name: 'work',
  description: 'Works',
  input: z.object({}),
  execute: () => 'worked hard '.repeat(300),
});

interface Options {
  readonly session?: InMemorySession;
  readonly capabilities?: readonly Capability[];
}

function setUp(script: readonly ScriptEntry[], config: BudgetConfig, options: Options = {}) {
  const model = new ScriptedModel(script);
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .session(options.session ?? new InMemorySession())
    .tools(work)
    .use(budget(config), ...(options.capabilities ?? []))
    .build();
  return { model, agent };
}

const excesses = (events: readonly AgentEvent[]) =>
  events.filter((event) => event.type === 'budget.exceeded');

describe('a budget', () => {
  it('ends the call before the model call that would exceed it, behind a whole round of tools', async () => {
    const { agent, model } = setUp([WORK, WORK, WORK, WORK], { maxTokensPerCall: 250 });
    const events = await collect(agent.stream('Go', context));
    expect(events.at(-1)).toMatchObject({ type: 'call.completed', stopReason: 'budget_exceeded' });
    expect(excesses(events)).toMatchObject([{ scope: 'call', unit: 'tokens', used: 300, limit: 250 }]);
    expect(model.requests).toHaveLength(3);
    const messages = (await agent.state(context))?.context ?? [];
    expect(messages.at(-1)?.role).toBe('tool');
    expect(isPaired(messages)).toBe(true);
  });

  it('of a call begins anew with the next', async () => {
    const { agent } = setUp([WORK, WORK, DONE, DONE], { maxTokensPerCall: 150 });
    expect((await agent.call('Go', context)).stopReason).toBe('budget_exceeded');
    expect((await agent.resume(context)).stopReason).toBe('completed');
    expect((await agent.call('And?', context)).stopReason).toBe('completed');
  });

  it('of a session holds over calls and processes', async () => {
    const session = new InMemorySession();
    const config = { maxTokensPerSession: 250 };
    const first = setUp([DONE, DONE], config, { session }).agent;
    expect((await first.call('One', context)).stopReason).toBe('completed');
    expect((await first.call('Two', context)).stopReason).toBe('completed');
    const second = setUp([DONE], config, { session });
    expect((await second.agent.call('Three', context)).stopReason).toBe('completed');
    const reply = await second.agent.call('Four', context);
    expect(reply).toMatchObject({ stopReason: 'budget_exceeded', message: undefined });
    const state = await second.agent.state(context);
    expect(state && spendingOf(state)).toEqual({ tokens: 300, cost: 0 });
    expect(second.model.requests).toHaveLength(1);
    const other = RuntimeContext.of({ sessionId: 'other' });
    await expect(second.agent.call('Mine', other)).rejects.toThrow('its script has no reply');
  });

  it('of cost counts each kind of token at its price', async () => {
    const cached = { inputTokens: 10, outputTokens: 1, cachedInputTokens: 5 };
    const { agent } = setUp([{ text: 'a', usage: cached }], { maxCostPerSession: 100, prices: PRICES });
    await agent.call('Go', context);
    const state = await agent.state(context);
    expect(state && spendingOf(state)).toEqual({ tokens: 11, cost: 5 * 1 + 5 * 0.1 + 1 * 2 });
  });

  it('of cost ends a call', async () => {
    const { agent } = setUp([WORK, WORK], {
      maxCostPerCall: 110,
      prices: { '*': { input: 1_000_000, output: 2_000_000 } },
    });
    const events = await collect(agent.stream('Go', context));
    expect(excesses(events)).toMatchObject([{ scope: 'call', unit: 'cost', used: 110, limit: 110 }]);
  });

  it('of cost refuses a model without a price before it is called', async () => {
    const { agent, model } = setUp([DONE], { maxCostPerCall: 1, prices: { other: { input: 1, output: 1 } } });
    await expect(agent.call('Go', context)).rejects.toThrow('prices.scripted');
    expect(model.requests).toHaveLength(0);
  });

  const nothing = { inputTokens: 0, outputTokens: 0 };
  const endless = { inputTokens: 1.7e308, outputTokens: 1.7e308 };
  it.each(['none', nothing, endless] as const)(
    'counts an estimate where the provider reports %j',
    async (none) => {
      const silent = { ...WORK, usage: none } as const;
      const { agent } = setUp([silent, silent, silent], { maxTokensPerCall: 60 });
      const reply = await agent.call('word '.repeat(40), context);
      expect(reply).toMatchObject({ stopReason: 'budget_exceeded', usage: { inputTokens: 0 } });
    },
  );

  it('counts answers that are not used: failed, invalid and withheld ones', async () => {
    const failed = { ...DONE, finishReason: 'error' } as const;
    const invalid = { content: [{ type: 'text', text: 1 }], finishReason: 'stop', usage };
    const withheld = { ...DONE, text: '', finishReason: 'content-filter' } as const;
    const answers = [failed, DONE, withheld, withheld, DONE];
    const script = new ScriptedModel(answers);
    let isInvalid = true;
    const agent = HarnessAgent.builder()
      .model({
        id: 'm',
        generate: async (request) => {
          if (!isInvalid) return script.generate(request);
          isInvalid = false;
          return invalid as unknown as ReturnType<typeof script.generate>;
        },
      })
      .workspace(scratch())
      .settings({ retryDelayMs: 0 })
      .use(budget({ maxTokensPerSession: 10_000 }))
      .build();
    for (const text of ['Go', 'Do it', 'Do it now']) await agent.call(text, context);
    const state = await agent.state(context);
    expect(state && spendingOf(state).tokens).toBe(6 * 100);
    script.assertComplete();
  });

  it('counts the zeros of a hook that answers in place of the model', async () => {
    const cached: Capability = {
      name: 'cached',
      aroundModel: async () => ({
        content: [{ type: 'text', text: 'known' }],
        finishReason: 'stop',
        usage: nothing,
      }),
    };
    const { agent } = setUp([], { maxTokensPerSession: 1 }, { capabilities: [cached] });
    await agent.call('Go', context);
    expect(await agent.call('Again', context)).toMatchObject({ stopReason: 'completed', text: 'known' });
  });

  it('counts what a compaction uses, before the model call that follows it', async () => {
    const summary = '## SESSION INTENT\nA\n## SUMMARY\nB\n## ARTIFACTS\nC\n## NEXT STEPS\nD';
    const summarizer = new ScriptedModel([
      { text: summary, usage: { inputTokens: 5_000, outputTokens: 50 } },
    ]);
    const rounds = Array.from({ length: 8 }, () => WORK);
    const { agent, model } = setUp(
      rounds,
      { maxTokensPerCall: 3_000 },
      {
        capabilities: [
          compaction({
            trigger: { messages: 9 },
            keep: { messages: 2 },
            stages: ['summarize', 'drop_oldest'],
            model: summarizer,
            counter: estimateCounter,
          }),
        ],
      },
    );
    const events = await collect(agent.stream('Go', context));
    expect(events.filter((event) => event.type === 'usage.reported')).toMatchObject([
      { source: 'compaction', modelId: 'scripted' },
    ]);
    expect(excesses(events)).toMatchObject([{ used: 100 * model.requests.length + 5_050 }]);
    expect(model.requests).toHaveLength(4);
  });

  it('adds what work in the background used to the session when it is called next', async () => {
    let report: () => void = () => {};
    const late: Capability = {
      name: 'late',
      async aroundCall(scope, next) {
        await next();
        report = () => scope.emit({ type: 'usage.reported', source: 'late', modelId: 'x', usage });
      },
    };
    const { agent } = setUp([DONE, DONE], { maxTokensPerSession: 1_000 }, { capabilities: [late] });
    await agent.call('One', context);
    report();
    await agent.call('Two', context);
    const state = await agent.state(context);
    expect(state && spendingOf(state)).toEqual({ tokens: 300, cost: 0 });
  });

  it.each([
    ['no limit', {}, 'needs a limit'],
    [
      'a limit of 0',
      { maxTokensPerCall: 0 },
      'maxTokensPerCall: must be greater than 0; leave it out for no limit',
    ],
    ['a cost without prices', { maxCostPerCall: 1 }, 'prices: is required'],
    ['an unknown key', { maxTokens: 1 }, 'maxTokens: unknown key'],
  ])('refuses %s', (_, config, message) => {
    expect(() => budget(config as BudgetConfig)).toThrow(message);
    expect(() => budget(config as BudgetConfig)).toThrow(expect.any(InvalidInputError));
  });
});
