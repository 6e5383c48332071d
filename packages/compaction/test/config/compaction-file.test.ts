import { InvalidInputError } from '@x/core';
import { describe, expect, it } from 'vitest';
import { compaction, compactionConfigSchema, parseCompactionConfig } from '../../src/index.js';

function issuesOf(value: unknown): readonly string[] {
  try {
    parseCompactionConfig(value);
  } catch (error) {
    if (InvalidInputError.isInstance(error))
      return error.issues.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

describe('parseCompactionConfig', () => {
  it('has the defaults of the code', () => {
    const { options } = parseCompactionConfig({});
    expect(options).toMatchObject(compactionConfigSchema.parse({}));
    expect(options).toMatchObject({ offloadBeforeCompact: true, flushBeforeCompact: true });
  });

  it('reads snake_case at every depth, and leaves values alone', () => {
    const { options } = parseCompactionConfig({
      trigger_messages: 30,
      keep_messages: 10,
      truncate_args: { max_arg_length: 500, truncation_text: '[cut_here]' },
      mask_outputs: { format: 'head_tail', exclude_tools: ['read_file'] },
      memory_tiers: { hot_messages: 5, warm_messages: 9 },
      trim_synthetic: false,
      preserve: ['open_questions'],
    });
    expect(options).toMatchObject({
      triggerMessages: 30,
      keepMessages: 10,
      truncateArgs: { maxArgLength: 500, truncationText: '[cut_here]' },
      maskOutputs: { format: 'head_tail', excludeTools: ['read_file'] },
      memoryTiers: { hotMessages: 5, warmMessages: 9 },
      trimSynthetic: false,
      preserve: ['open_questions'],
    });
    expect(() => compaction(options)).not.toThrow();
  });

  it('reads the form that names the capability', () => {
    const { options } = parseCompactionConfig({ ref: 'compaction', config: { trigger_tokens: 9_000 } });
    expect(options.triggerTokens).toBe(9_000);
    expect(parseCompactionConfig({ ref: 'compaction' })).toEqual(parseCompactionConfig({}));
    expect(issuesOf({ ref: 'compaction', trigger_tokens: 9_000 })).toEqual([
      'trigger_tokens: unknown key; options stand under config',
    ]);
    expect(issuesOf({ ref: 'memory', config: {} })).toEqual(['ref: unknown key', 'config: unknown key']);
  });

  it('takes threshold for a budget in percent', () => {
    expect(parseCompactionConfig({ threshold: 80 }).options.budgetPercent).toBe(0.8);
    expect(parseCompactionConfig({ threshold: 0 }).options.budgetPercent).toBe(0);
    expect(issuesOf({ threshold: 0.8 })).toEqual(['threshold: is in percent: write 80 for 80 %']);
    expect(issuesOf({ threshold: 80, budget_percent: 0.8 })[0]).toBe(
      'threshold: and budget_percent say the same; leave one of them out',
    );
  });

  it('takes 0 for 0', () => {
    const zeros = {
      trigger_messages: 0,
      trigger_tokens: 0,
      budget_percent: 0,
      keep_messages: 0,
      ledger_tokens: 0,
    };
    expect(parseCompactionConfig(zeros).options).toMatchObject({
      triggerMessages: 0,
      triggerTokens: 0,
      budgetPercent: 0,
      keepMessages: 0,
      ledgerTokens: 0,
    });
  });

  it.each([
    ['an unknown key', { tigger_messages: 3 }, ['tigger_messages: unknown key']],
    [
      'an unknown key further in',
      { preview_args: { arg_treshold: 3 } },
      ['preview_args.arg_treshold: unknown key'],
    ],
    [
      'a key as code writes it',
      { triggerMessages: 3 },
      ['triggerMessages: unknown key; files write trigger_messages'],
    ],
    [
      'what would be due again at once',
      { trigger_messages: 30, keep_messages: 30 },
      ['keep_messages: 30 must be below trigger_messages 30, or a reduction is due again at once'],
    ],
    [
      'a trim above the budget',
      { threshold: 40 },
      ['trim_synthetic.trim_threshold: 0.5 must be below budget_percent 0.4'],
    ],
    [
      'two prompts',
      { prompt: 'short', summary_prompt: 'Be short.' },
      ['prompt: and summary_prompt both say how to summarize; leave one of them out'],
    ],
    [
      'a summarizer that must not be',
      { summarizer: 'none', agent: 'scribe' },
      ['agent: names a summarizer although summarizer is "none"'],
    ],
    ['objects of code', { model: {} }, ['model: unknown key']],
  ])('refuses %s', (_, value, issues) => {
    expect(issuesOf(value)).toEqual(issues);
  });

  it('refuses what is no object', () => {
    for (const value of ['compaction', 3, [], true]) expect(issuesOf(value)).toHaveLength(1);
  });
});
