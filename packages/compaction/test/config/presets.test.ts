import { assistantMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { type CompactionConfig, createCompactor, parseCompactionConfig } from '../../src/index.js';
import { lines, rounds } from '../build.js';

const everruns: readonly object[] = [
  {},
  { strategy: 'auto', proactive: false },
  { ref: 'compaction', config: { strategy: 'native', budget_percent: 0.85 } },
  { strategy: 'auto', proactive: true, budget_percent: 0.85 },
  {
    strategy: 'observation_masking',
    observation_masking: { keep_recent_tool_outputs: 10, summary_format: 'head_tail' },
  },
  {
    strategy: 'summarization',
    summarization: { model: 'small', preserve: ['decisions', 'errors'], instructions: 'Focus on decisions' },
  },
  {
    strategy: 'auto',
    budget_percent: 0.8,
    observation_masking: { keep_recent_tool_outputs: 5, summary_format: 'one_line' },
    summarization: { model: null, preserve: ['decisions'], instructions: null },
    memory_tiers: { hot_messages: 20, warm_messages: 100 },
  },
];
const aura: readonly object[] = [
  { threshold: 80, keep_last_messages: 10, trim_threshold: 50, agent: 'Compaction' },
  { max_tokens: 90_000, chunks: 5, tool_result_max_length: 200, truncation_retries: [150, 100, 50, 0] },
  { compaction: { prune: { mode: 'iteration', protect_percent: 30, arg_threshold: 200 } } },
];
const agentscope: readonly object[] = [
  { trigger_messages: 30, keep_messages: 10, truncate_args: { max_arg_length: 2_000 } },
  { trigger_tokens: 80_000, keep_tokens: 8_000, flush_before_compact: true, offload_before_compact: false },
];

describe('a preset', () => {
  it.each([
    ...everruns.map((config) => ['everruns', config] as const),
    ...aura.map((config) => ['aura', config] as const),
    ...agentscope.map((config) => ['agentscope', config] as const),
  ])('%s loads %j as it is published', (preset, written) => {
    // Pasted as it stands: its own keys name the preset.
    const { options } = parseCompactionConfig(Object.keys(written).length === 0 ? { preset } : written);
    expect(options.preset).toBe(preset);
    const { offloadBeforeCompact, flushBeforeCompact, recall, compactTool, ...config } = options;
    expect(() => createCompactor(config as CompactionConfig)).not.toThrow();
  });

  it('takes the names of models and prompts out of a file', () => {
    expect(parseCompactionConfig({ preset: 'everruns', summarization: { model: 'small' } }).model).toBe(
      'small',
    );
    expect(parseCompactionConfig({ preset: 'aura', prompt: 'brief' })).toMatchObject({ prompt: 'brief' });
  });

  const talk = [userMessage('go'), ...rounds(30, () => ({ output: lines(300) })), assistantMessage('done')];
  const reduce = async (config: CompactionConfig) => {
    const outcome = await createCompactor({ contextWindow: 20_000, ...config } as CompactionConfig).compact(
      talk,
      {
        reason: 'proactive_budget',
      },
    );
    expect(outcome.status).toBe('applied');
    const worked = outcome.steps.filter((step) => step.tokensAfter < step.tokensBefore);
    return { outcome, worked: worked.map(({ reducer }) => reducer) };
  };

  it('of everruns masks the warm tier whatever the strategy', async () => {
    const tiers = { hotMessages: 6, warmMessages: 30 };
    for (const strategy of ['auto', 'summarization'] as const) {
      const { worked } = await reduce({ preset: 'everruns', strategy, memoryTiers: tiers });
      expect(worked[0]).toBe('mask_outputs');
    }
  });

  it('of everruns writes a record before it drops where masking is not enough', async () => {
    const { worked, outcome } = await reduce({
      preset: 'everruns',
      strategy: 'observation_masking',
      observationMasking: { keepRecentToolOutputs: 25 },
    });
    expect(worked).toContain('summarize');
    expect(outcome.manifest.map(({ fate }) => fate)).not.toContain('dropped');
  });

  it('of agentscope keeps 20 messages where 30 trigger', async () => {
    const { outcome } = await reduce({ preset: 'agentscope', triggerMessages: 30, contextWindow: 400_000 });
    expect(outcome.messages.slice(-19)).toEqual(talk.slice(-19));
  });
});
