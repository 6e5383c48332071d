import { assistantMessage, type Message, textOf, userMessage } from '@x/core';
import { describe, expect, it, vi } from 'vitest';
import { type CompactionConfig, createCompactor, parseCompactionConfig } from '../../src/index.js';
import { lines, meter, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf } from '../models.js';

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
  { strategy: 'auto', memory_tiers: null },
];
const aura: readonly object[] = [
  { threshold: 80, keep_last_messages: 10, trim_threshold: 50, agent: 'Compaction' },
  { max_tokens: 90_000, chunks: 5, tool_result_max_length: 200, truncation_retries: [150, 100, 50, 0] },
  { compaction: { prune: { mode: 'iteration', protect_percent: 30, arg_threshold: 200 } } },
];
const agentscope: readonly object[] = [
  { trigger_messages: 30, keep_messages: 10, truncate_args: { max_arg_length: 2_000 } },
  { trigger_tokens: 80_000, keep_tokens: 8_000, flush_before_compact: true, offload_before_compact: false },
  { trigger_messages: 30, truncate_args: null, summary_prompt: null, keep_tokens: 0 },
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
});

const talk = [userMessage('go'), ...rounds(30, () => ({ output: lines(300) })), assistantMessage('done')];

/** Reduces `talk` where it is due, and tells which stages made it smaller. */
async function reduce(config: CompactionConfig, messages: readonly Message[] = talk) {
  const options = { contextWindow: 20_000, ...config } as CompactionConfig;
  const outcome = await createCompactor(options).compact(messages, { reason: 'proactive_budget' });
  const worked = outcome.steps.filter((step) => step.tokensAfter < step.tokensBefore);
  return { outcome, worked: worked.map(({ stage }) => stage) };
}
const tokens = meter.messages(talk);
const isDue = async (config: CompactionConfig, messages = talk) =>
  (await reduce(config, messages)).outcome.status === 'applied';
/** Kept as they were at the end. */
const kept = (messages: readonly Message[]) =>
  [...talk].reverse().findIndex((message, index) => message !== messages.at(-1 - index));

describe('everruns', () => {
  const tiers = { hotMessages: 6, warmMessages: 30 };

  it.each(['auto', 'summarization'] as const)('masks the warm tier with strategy %s', async (strategy) => {
    const { worked } = await reduce({ preset: 'everruns', strategy, memoryTiers: tiers });
    expect(worked[0]).toBe('mask_outputs');
  });

  it('leaves tiers alone until a compaction is due, masks then, and summarizes what is cold where that is not enough', async () => {
    const messages = [
      ...rounds(40, () => ({ output: lines(60) })),
      userMessage('and?'),
      assistantMessage('so'),
    ];
    const tiered = {
      preset: 'everruns',
      memoryTiers: { hotMessages: 4, warmMessages: 10 },
      model: null,
    } as const;
    const size = meter.messages(messages);
    expect((await reduce({ ...tiered, contextWindow: size * 2 }, messages)).outcome.messages).toBe(messages);

    const masked = await reduce({ ...tiered, contextWindow: size }, messages);
    expect(masked.worked).toEqual(['mask_outputs']);
    expect(masked.outcome.messages).toHaveLength(82);
    expect(masked.outcome.messages.slice(-4)).toEqual(messages.slice(-4));

    const cold = await reduce({ ...tiered, contextWindow: Math.floor(size / 4) }, messages);
    expect(cold.worked).toEqual(['mask_outputs', 'summarize']);
    expect(cold.outcome.messages.some(({ kind }) => kind === 'summary')).toBe(true);
    expect(cold.outcome.messages.slice(-4)).toEqual(messages.slice(-4));
    expect(cold.outcome.messages.length).toBeLessThanOrEqual(16);
  });

  it('writes a record before it drops where masking is not enough', async () => {
    const { worked, outcome } = await reduce({
      preset: 'everruns',
      strategy: 'observation_masking',
      observationMasking: { keepRecentToolOutputs: 25 },
    });
    expect(worked).toContain('summarize');
    expect(outcome.manifest.map(({ fate }) => fate)).not.toContain('dropped');
  });

  it('keeps the newest outputs whole, and shows head and tail of others where asked to', async () => {
    const config = { preset: 'everruns', strategy: 'observation_masking', contextWindow: tokens } as const;
    const { outcome } = await reduce({
      ...config,
      observationMasking: { keepRecentToolOutputs: 10, summaryFormat: 'head_tail' as const },
    });
    const results = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'tool');
    expect(results(outcome.messages).slice(-10)).toEqual(results(talk).slice(-10));
    const [first] = results(outcome.messages);
    expect(textOf(first?.content ?? [])).toMatch(/line 0\n[\s\S]*line 299/);
  });

  it.each(['activate_skill', 'load_skill'])('never masks the instructions of %s', async (name) => {
    const skill = lines(200);
    const messages = [
      userMessage('go'),
      ...rounds(1, () => ({ name, output: skill })),
      ...rounds(30, () => ({ output: lines(200) })),
    ];
    const { outcome, worked } = await reduce(
      { preset: 'everruns', strategy: 'observation_masking', contextWindow: meter.messages(messages) },
      messages,
    );
    expect(worked).toEqual(['mask_outputs']);
    const results = outcome.messages.filter(({ role }) => role === 'tool').map(textOf);
    expect(results[0]).toBe(skill);
    expect(results[1]).not.toBe(skill);
  });

  it('is due at its share of the window, and with proactive: false where the request would not fit', async () => {
    const contextWindow = Math.ceil(tokens / 0.7);
    expect(await isDue({ preset: 'everruns', contextWindow })).toBe(false);
    expect(await isDue({ preset: 'everruns', contextWindow, budgetPercent: 0.6 })).toBe(true);
    expect(await isDue({ preset: 'everruns', contextWindow, proactive: false })).toBe(false);
    expect(await isDue({ preset: 'everruns', contextWindow: 20_000, proactive: false })).toBe(true);
  });

  it('tells the summarizer what to preserve, and has the provider compact with strategy native', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const summarization = { preserve: ['prices'], instructions: 'Keep the names of all ships.' };
    await reduce({ preset: 'everruns', strategy: 'summarization', summarization, model });
    expect(promptOf(model.requests[0])).toMatch(/prices[\s\S]*ships|ships[\s\S]*prices/);

    const provider = { ...modelOf(() => GOOD_SUMMARY), compact: vi.fn(async () => ({ content: [] })) };
    await reduce({ preset: 'everruns', strategy: 'native', model: provider });
    expect(provider.compact).toHaveBeenCalledTimes(1);
  });
});

describe('agentscope', () => {
  it('is due at 50 messages or 80 000 tokens, each 0 for never', async () => {
    const roomy = { preset: 'agentscope', contextWindow: 900_000 } as const;
    expect(await isDue(roomy)).toBe(true);
    expect(await isDue({ ...roomy, triggerMessages: 0 })).toBe(false);
    expect(await isDue({ ...roomy, triggerMessages: 0, triggerTokens: tokens - 1 })).toBe(true);
    expect(await isDue({ ...roomy, triggerMessages: 0, triggerTokens: 0 })).toBe(false);
    // Its default refuses no window.
    expect(await isDue({ ...roomy, triggerMessages: 0, contextWindow: 20_000 })).toBe(true);
  });

  it('keeps 20 messages, or as many tokens as it is told', async () => {
    const roomy = { preset: 'agentscope', contextWindow: 400_000 } as const;
    const twenty = (await reduce({ ...roomy, triggerMessages: 30 })).outcome;
    expect(kept(twenty.messages)).toBeGreaterThanOrEqual(20);
    const few = (await reduce({ ...roomy, keepTokens: 3_000 })).outcome;
    expect(kept(few.messages)).toBeLessThan(8);
    expect(kept(few.messages)).toBeGreaterThan(0);
  });

  it('asks in the words of summaryPrompt', async () => {
    const model = modelOf(
      () => 'The login was fixed by reading the code of src/login.ts and by running all its tests.',
    );
    await reduce({ preset: 'agentscope', summaryPrompt: 'Tell it as a ballad. {messages}', model });
    expect(promptOf(model.requests[0])).toContain('Tell it as a ballad.');
  });

  it('cuts long arguments of old calls where asked to, long before anything else is due', async () => {
    const messages = [
      userMessage('go'),
      ...rounds(15, () => ({ name: 'write_file', input: { path: 'a', content: 'x'.repeat(5_000) } })),
    ];
    const config = { preset: 'agentscope', contextWindow: 400_000 } as const;
    expect((await reduce(config, messages)).outcome.messages).toBe(messages);
    const { worked, outcome } = await reduce({ ...config, truncateArgs: { maxArgLength: 100 } }, messages);
    expect(worked).toEqual(['truncate_args']);
    expect(JSON.stringify(outcome.messages[1])).toContain('... [truncated] ...');
    expect(outcome.messages.slice(-20)).toEqual(messages.slice(-20));
  });
});

describe('aura', () => {
  it('is due at its percentage of the window, or in its place at maxTokens', async () => {
    const contextWindow = Math.ceil(tokens / 0.7);
    expect(await isDue({ preset: 'aura', contextWindow })).toBe(false);
    expect(await isDue({ preset: 'aura', contextWindow, threshold: 60 })).toBe(true);
    expect(await isDue({ preset: 'aura', contextWindow, maxTokens: tokens - 1 })).toBe(true);
    expect(await isDue({ preset: 'aura', contextWindow, threshold: 0 })).toBe(false);
  });

  it('keeps its last messages, writes in chunks, and shows the model so much of each result', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const { outcome } = await reduce({
      preset: 'aura',
      contextWindow: tokens,
      keepLastMessages: 12,
      chunks: 3,
      toolResultMaxLength: 60,
      model,
    });
    // The twelfth is a result, which keeps its call.
    expect(kept(outcome.messages)).toBe(13);
    expect(model.requests).toHaveLength(3);
    expect(promptOf(model.requests[0])).not.toContain('line 150');
  });

  it('drops injected messages that repeat from trimThreshold on', async () => {
    const note = () => ({
      ...userMessage('Remember the house rules. '.repeat(40)),
      kind: 'synthetic' as const,
    });
    const messages = [userMessage('go'), note(), ...rounds(4), note(), ...rounds(4), note(), ...rounds(4)];
    const contextWindow = Math.ceil(meter.messages(messages) / 0.6);
    const { worked, outcome } = await reduce({ preset: 'aura', contextWindow }, messages);
    expect(worked).toEqual(['trim_synthetic']);
    expect(outcome.messages.filter(({ kind }) => kind === 'synthetic')).toHaveLength(1);
    const later = await reduce({ preset: 'aura', contextWindow, trimThreshold: 70 }, messages);
    expect(later.outcome.messages).toBe(messages);
  });

  it('shortens large arguments outside the protected part, after each round or with a compaction', async () => {
    const messages = [
      userMessage('go'),
      ...rounds(20, () => ({ name: 'write_file', input: { path: 'a', content: 'word '.repeat(600) } })),
    ];
    const size = meter.messages(messages);
    const pruned = async (mode: 'off' | 'iteration' | 'compaction', contextWindow: number) =>
      (await reduce({ preset: 'aura', contextWindow, prune: { mode }, model: null }, messages)).worked;
    expect(await pruned('iteration', size * 2)).toEqual(['preview_args']);
    expect(await pruned('compaction', size * 2)).toEqual([]);
    expect((await pruned('compaction', size))[0]).toBe('preview_args');
    expect(await pruned('off', size)).not.toContain('preview_args');
  });
});
