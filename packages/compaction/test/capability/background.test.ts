import { type Model, type ModelResponse, userMessage } from '@x/core';
import { assertPaired } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { type CompactionCapabilityConfig, compaction } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, said } from '../models.js';
import { scopeOf, type TestScope } from '../scope.js';

const answer: ModelResponse = { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
/** Two thirds of the window: below the trigger, and far enough to begin. */
const most = () => [userMessage('fix the login'), ...rounds(30, () => ({ output: lines(40) }))];
const more = () => rounds(12, () => ({ output: lines(40) }));
const contextWindow = 9_400;

interface Conversation {
  readonly scope: TestScope;
  readonly step: () => Promise<ModelResponse>;
  readonly grow: () => void;
  /** The work that was begun in the background. */
  readonly begun: Promise<void>[];
  readonly aborts: AbortController;
}

function conversation(model: Model, config: CompactionCapabilityConfig = {}): Conversation {
  const begun: Promise<void>[] = [];
  const aborts = new AbortController();
  const scope = scopeOf(most(), {
    model,
    background: (_, task) => void begun.push(task(aborts.signal)),
  });
  const capability = compaction({ contextWindow, ...config } as CompactionCapabilityConfig);
  return {
    scope,
    begun,
    aborts,
    step: () => capability.aroundReason?.(scope, async () => answer) as Promise<ModelResponse>,
    grow: () => {
      for (const message of more()) scope.state.contextMutable().push(message);
    },
  };
}

const reported = ({ scope }: Conversation) =>
  scope.events.flatMap((event) => (event.type === 'usage.reported' ? [event.usage] : []));
const summaries = ({ scope }: Conversation) => scope.state.context.filter(({ kind }) => kind === 'summary');

describe('a summary in the background', () => {
  it('is written before it is due, and swapped in without a wait when it is', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const agent = conversation(model);
    await agent.step();
    await Promise.all(agent.begun);
    expect(model.requests).toHaveLength(1);
    expect(agent.scope.events).toEqual([]);
    expect(summaries(agent)).toEqual([]);

    agent.grow();
    const newest = agent.scope.state.context.slice(-24);
    await agent.step();
    expect(model.requests).toHaveLength(1);
    expect(summaries(agent)).toHaveLength(1);
    expect(agent.scope.state.context.slice(-24)).toEqual(newest);
    assertPaired(agent.scope.state.context);
    expect(reported(agent)).toMatchObject([{ inputTokens: 10, outputTokens: 5 }]);
  });

  it('is begun once, and not before 70 % of the trigger point', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const agent = conversation(model);
    await agent.step();
    await agent.step();
    expect(agent.begun).toHaveLength(1);
    const early = conversation(model, { contextWindow: 20_000 });
    await early.step();
    expect(early.begun).toEqual([]);
  });

  it('is waited for when it is under way', async () => {
    let write: (response: ModelResponse) => void = () => {};
    const written = new Promise<ModelResponse>((resolve) => {
      write = resolve;
    });
    const model = modelOf(() => written);
    const agent = conversation(model);
    await agent.step();
    agent.grow();
    const step = agent.step();
    write(said(GOOD_SUMMARY));
    await step;
    expect(model.requests).toHaveLength(1);
    expect(summaries(agent)).toHaveLength(1);
  });

  it('is dropped when what it covers was changed, and its cost is reported with the one in its place', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const agent = conversation(model);
    await agent.step();
    await Promise.all(agent.begun);
    agent.scope.state.contextMutable()[0] = userMessage('fix the logout');
    agent.grow();
    await agent.step();
    expect(model.requests).toHaveLength(2);
    expect(JSON.stringify(agent.scope.state.context[0])).toContain('fix the logout');
    expect(reported(agent)).toMatchObject([{ inputTokens: 20, outputTokens: 10 }]);
  });

  it('is written anew with what a hook asks to keep', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const agent = conversation(model, { beforeCompaction: () => ({ instructions: 'Keep the port.' }) });
    await agent.step();
    await Promise.all(agent.begun);
    agent.grow();
    await agent.step();
    expect(model.requests).toHaveLength(2);
    expect(JSON.stringify(model.requests[1])).toContain('Keep the port.');
  });

  it('gives way to one at the trigger when the model failed in the background', async () => {
    const model = modelOf((_, index) => {
      if (index > 0) return GOOD_SUMMARY;
      throw new Error('no such model');
    });
    const agent = conversation(model);
    await agent.step();
    await Promise.all(agent.begun);
    agent.grow();
    await agent.step();
    expect(summaries(agent)).toHaveLength(1);
    expect(JSON.stringify(summaries(agent))).toContain('Fix the login.');
  });

  it('does not hold a call that is canceled', async () => {
    const model = modelOf(() => new Promise(() => {}));
    const canceled = new AbortController();
    const agent = conversation(model);
    Object.assign(agent.scope, { signal: canceled.signal });
    await agent.step();
    agent.grow();
    canceled.abort();
    await agent.step();
    expect(summaries(agent)).toEqual([]);
  });

  it.each<[string, CompactionCapabilityConfig]>([
    ['without a model', { model: null }],
    ['where it is switched off', { summary: { background: false } }],
    ['where it is switched off beside a preset', { preset: 'everruns', background: false }],
  ])('is not begun %s', async (_, config) => {
    const agent = conversation(
      modelOf(() => GOOD_SUMMARY),
      config,
    );
    await agent.step();
    expect(agent.begun).toEqual([]);
  });
});
