import { type CompactionCapabilityConfig, compaction, createCompactionFactories } from '@x/compaction';
import { defineTool, estimateCounter, RuntimeContext, textOf } from '@x/core';
import { countRequest } from '@x/core/messages';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CapabilityRegistry, HarnessAgent } from '../../src/index.js';
import { collect, isPaired, scratch } from '../support.js';

const LARGE = 200_000;
const SMALL = 8_000;
const context = RuntimeContext.of({ sessionId: 's' });
const SUMMARY = [
  '## SESSION INTENT\nLook at everything.',
  '## SUMMARY\nLooked at forty things.',
  '## ARTIFACTS\nNone.',
  '## NEXT STEPS\nGo on.',
].join('\n');

const look = defineTool({
  name: 'look',
  description: 'Looks',
  readOnly: true,
  input: z.object({ at: z.number() }),
  execute: ({ at }) => `${at}: ${'word '.repeat(600)}`,
});

function modelOf(id: string, script: readonly ScriptEntry[], contextWindow: number): ScriptedModel {
  return new ScriptedModel(script, { id, contextWindow, enforceWindow: { counter: estimateCounter } });
}

type Settings = Extract<CompactionCapabilityConfig, { readonly preset?: undefined }>;

/** A session that fills a large window, then continues with a model that has a small one. */
async function switchModels(script: readonly ScriptEntry[], config: Settings) {
  const directory = scratch();
  const agent = (model: ScriptedModel) =>
    HarnessAgent.builder()
      .model(model)
      .workspace(directory)
      .tools(look)
      .use(compaction({ counter: estimateCounter, keep: { tokens: 1_000 }, ...config }))
      .build();
  const rounds = Array.from({ length: 40 }, (_, at) => ({ toolCalls: [{ name: 'look', input: { at } }] }));
  const large = modelOf('large', [...rounds, { text: 'looked' }], LARGE);
  const first = agent(large);
  await first.call('Look at everything', context);
  large.assertComplete();
  await first.close();
  const last = large.requests.at(-1);
  expect(last && countRequest(estimateCounter, last)).toBeGreaterThan(3 * SMALL);

  const small = modelOf('small', script, SMALL);
  const second = agent(small);
  const events = await collect(second.stream('And now?', context));
  await second.close();
  return { small, events };
}

describe('a switch to a model with a smaller window', () => {
  it('reduces the history to fit before the first call, with no model at all', async () => {
    const { small, events } = await switchModels([{ text: 'done' }], { model: null });
    small.assertComplete();
    const [request] = small.requests;
    expect(request && countRequest(estimateCounter, request)).toBeLessThanOrEqual(SMALL);
    expect(isPaired(request?.messages ?? [])).toBe(true);
    expect(textOf(request?.messages.at(-1) ?? [])).toBe('And now?');
    expect(events.filter((event) => event.type === 'context.compacted')).toMatchObject([
      { reason: 'proactive_budget', status: 'applied' },
    ]);
  });

  it('never asks the small model for more than it can read, also when it writes the summary itself', async () => {
    const script = [
      { when: /CONVERSATION|transcript|summar/i, times: 20, reply: { text: SUMMARY } },
      { text: 'done' },
    ];
    const { small, events } = await switchModels(script, {});
    expect(small.requests.length).toBeGreaterThan(1);
    for (const request of small.requests) {
      expect(countRequest(estimateCounter, request)).toBeLessThanOrEqual(SMALL);
    }
    expect(events.filter((event) => event.type === 'context.compacted')).toMatchObject([
      { reason: 'proactive_budget', status: 'applied' },
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'call.completed', stopReason: 'completed' });
  });
});

describe('compaction from a configuration file', () => {
  it('is resolved by its name', async () => {
    const registry = new CapabilityRegistry();
    for (const [name, factory] of Object.entries(createCompactionFactories()))
      registry.register(name, factory);
    const config = { trigger: { messages: 6 }, keep: { messages: 2 }, model: null };
    const rounds = Array.from({ length: 8 }, (_, at) => ({ toolCalls: [{ name: 'look', input: { at } }] }));
    const agent = HarnessAgent.builder()
      .model(modelOf('large', [...rounds, { text: 'looked' }], LARGE))
      .workspace(scratch())
      .tools(look)
      .use(await registry.load({ ref: 'compaction', config }), await registry.load('tool_result_eviction'))
      .build();
    const events = await collect(agent.stream('Look', context));
    expect(events.filter((event) => event.type === 'context.compacted')[0]).toMatchObject({
      status: 'applied',
    });
  });
});
