import { userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { compactionConfigSchema } from '../../src/config/compaction-config.js';
import {
  type CompactionConfig,
  type CompactionSettings,
  compaction,
  createCompactor,
  dropOldest,
} from '../../src/index.js';
import { meter, rounds } from '../build.js';
import { modelOf } from '../models.js';

/** Whether a compactor is due at so many tokens of prose, in messages of 100 tokens or in a single one. */
async function isDueAt(config: CompactionConfig, tokens: number, count: number): Promise<boolean> {
  const text = 'word '.repeat(Math.floor(tokens / count));
  const messages = Array.from({ length: count }, () => userMessage(text));
  const outcome = await createCompactor(config).plan(messages, { reason: 'proactive_budget' });
  return outcome.message !== 'no trigger is reached';
}

describe('a trigger', () => {
  it.each<[string, CompactionConfig, number, number]>([
    ['a share', { contextWindow: 200_000, trigger: { share: 0.7 } }, 130_000, 145_000],
    ['tokens', { contextWindow: 400_000, trigger: { tokens: 350_000 } }, 300_000, 360_000],
    ['the default', { contextWindow: 400_000 }, 300_000, 350_000],
    [
      'the nearest of two',
      { contextWindow: 400_000, trigger: { share: 0.9, tokens: 90_000 } },
      80_000,
      95_000,
    ],
  ])('by %s decides alone', async (_, config, below, above) => {
    expect(await isDueAt(config, below, 300)).toBe(false);
    expect(await isDueAt(config, above, 300)).toBe(true);
  });

  it.each([{ share: 0.99 }, { tokens: 199_000 }])(
    '%j does not let more pass than may be sent',
    async (trigger) => {
      expect(await isDueAt({ contextWindow: 200_000, trigger }, 190_000, 300)).toBe(true);
    },
  );

  it.each<CompactionConfig>([
    { trigger: { messages: 500 } },
    { trigger: { share: 0 } },
    { trigger: { share: 0, tokens: 0, messages: 0 } },
    { preset: 'agentscope', triggerMessages: 0, triggerTokens: 0 },
    { preset: 'aura', threshold: 0 },
    { preset: 'everruns', proactive: false },
  ])('never lets a request exceed what may be sent: %j', async (config) => {
    expect(await isDueAt({ ...config, contextWindow: 100_000 }, 88_000, 30)).toBe(false);
    expect(await isDueAt({ ...config, contextWindow: 100_000 }, 95_000, 30)).toBe(true);
  });

  it('by messages fires whatever the tokens', async () => {
    expect(await isDueAt({ contextWindow: 10_000, trigger: { messages: 20 } }, 100, 20)).toBe(true);
  });

  it('is off at 0 where nobody knows the window', async () => {
    expect(await isDueAt({ trigger: { share: 0 } }, 200_000, 60)).toBe(false);
  });

  it('leaves every message as it is below it, over 100 messages', async () => {
    const compactor = createCompactor({ contextWindow: 200_000 });
    const all = [userMessage('go'), ...rounds(50)];
    for (let length = 1; length <= all.length; length++) {
      const messages = all.slice(0, length);
      const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
      expect(outcome.messages).toBe(messages);
    }
  });
});

describe('a configuration', () => {
  it('loses no group on its way to the stages', () => {
    // A new group is missing here, and does not compile.
    const written = {
      contextWindow: 50_000,
      redact: false,
      trigger: { tokens: 9_000 },
      target: { tokens: 5_000 },
      keep: { tokens: 300 },
      summary: { record: 0.1 },
      saving: { share: 0.2, tokens: 40 },
      stages: ['mask_outputs'],
      model: modelOf(() => 'unused'),
      counter: meter.counter,
    } satisfies Required<Omit<CompactionSettings, 'preset'>>;
    expect(compactionConfigSchema.parse(written)).toMatchObject(written);
  });

  it.each<[object, string]>([
    [{ trigger: { share: 85 } }, 'trigger.share: must be a share between 0 and 1: write 0.85 for 85 %'],
    [{ keep: { share: 30 } }, 'keep.share: must be a share between 0 and 1: write 0.3 for 30 %'],
    [{ keep: { share: 20_000 } }, 'keep.share: must be a share between 0 and 1: write 0.85 for 85 %'],
    [{ trigger: { tokens: -1 } }, 'trigger.tokens'],
    [
      { trigger: { messages: 30 }, keep: { messages: 30 } },
      'keep.messages: 30 must be below trigger.messages 30',
    ],
    [
      { trigger: { tokens: 900 }, keep: { tokens: 900 } },
      'keep.tokens: 900 must be below trigger.tokens 900',
    ],
    [{ contextWindow: 900, trigger: { tokens: 1_000 } }, 'trigger.tokens: 1000 exceeds contextWindow 900'],
    [{ target: 0.2, keep: { share: 0.4 } }, 'keep.share: 0.4 must be below target 0.2'],
    [
      { target: { tokens: 500 }, trigger: { tokens: 400 } },
      'target.tokens: 500 must be below trigger.tokens 400',
    ],
    [{ target: 1.5 }, 'target'],
    [{ stages: [] }, 'stages'],
    [{ stages: ['forget'] }, 'stages[0]'],
    [
      { model: null, summary: { instructions: 'x' } },
      'summary.instructions: is an instruction to a model, but model is null',
    ],
    [{ triggerMessages: 3 }, 'triggerMessages: unknown key'],
    [{ preset: 'other' }, 'preset: must be agentscope, everruns or aura'],
    [{ preset: 'aura', keepLastMessages: -1 }, 'keepLastMessages'],
    [{ preset: 'aura', threshold: 40, trimThreshold: 50 }, 'trimThreshold: 50 must be below threshold 40'],
    [{ preset: 'aura', agent: 'scribe' }, 'agent: is a name, but only configuration files support names'],
    [
      { preset: 'agentscope', triggerMessages: 20, keepMessages: 20 },
      'keepMessages: 20 must be below triggerMessages 20',
    ],
  ])('%j is refused with the path and the reason', (config, message) => {
    expect(() => createCompactor(config as never)).toThrow(message);
    expect(() => compaction(config as never)).toThrow(message);
  });

  it.each<object>([
    { trigger: { share: 0.5 } },
    { contextWindow: 200_000, trigger: { share: 0.1 } },
    { keep: { share: 0.8 } },
    { keep: { messages: 0 } },
    { trigger: { messages: 2 } },
    { stages: ['mask_outputs', dropOldest()] },
    { preset: 'aura', threshold: 50 },
    { preset: 'agentscope', triggerMessages: 10 },
    { preset: 'everruns', budgetPercent: 0.5 },
  ])('%j is never refused for what a default says', (config) => {
    expect(() => createCompactor(config as never)).not.toThrow();
  });
});
