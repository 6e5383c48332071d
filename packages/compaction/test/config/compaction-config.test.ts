import { describe, expect, it } from 'vitest';
import {
  compaction,
  compactionConfigSchema,
  createCompactor,
  evictionConfigSchema,
} from '../../src/index.js';
import { modelOf } from '../models.js';

const parse = (config: unknown) => compactionConfigSchema.safeParse(config);
const problemOf = (config: unknown) => parse(config).error?.issues.map((issue) => issue.path.join('.'));

describe('compactionConfigSchema', () => {
  it('has the documented defaults', () => {
    expect(compactionConfigSchema.parse({})).toMatchObject({
      triggerMessages: 50,
      triggerTokens: 80_000,
      budgetPercent: 0.85,
      maxTokens: 0,
      keepMessages: 20,
      keepTokens: 0,
      strategy: 'auto',
      truncateArgs: {
        triggerMessages: 25,
        triggerTokens: 40_000,
        keepMessages: 20,
        maxArgLength: 2_000,
        truncationText: '... [truncated] ...',
      },
      trimSynthetic: { trimThreshold: 0.5, trimMaxTokens: 0 },
      previewArgs: { mode: 'off', argThreshold: 200, protectPercent: 0.3 },
      maskOutputs: { keepRecentToolOutputs: 5, format: 'one_line' },
      chunks: 1,
      toolResultMaxLength: 200,
      truncationRetries: [150, 100, 50, 0],
      preserve: ['decisions', 'files_modified', 'errors', 'current_plan'],
    });
    expect(compactionConfigSchema.parse({ memoryTiers: {} })).toMatchObject({
      memoryTiers: { hotMessages: 20, warmMessages: 100 },
      triggerMessages: 0,
    });
  });

  it('fits keepMessages to a smaller trigger unless it is given', () => {
    expect(compactionConfigSchema.parse({ triggerMessages: 10 }).keepMessages).toBe(5);
    expect(compactionConfigSchema.parse({ triggerMessages: 1 }).keepMessages).toBe(0);
  });

  it.each([
    ['an unknown key', { tiggerMessages: 3 }, ''],
    ['an unknown nested key', { truncateArgs: { max: 3 } }, 'truncateArgs'],
    ['a share written as percent', { budgetPercent: 85 }, 'budgetPercent'],
    ['a negative number', { triggerTokens: -1 }, 'triggerTokens'],
    ['keeping as much as triggers', { triggerMessages: 30, keepMessages: 30 }, 'keepMessages'],
    ['keeping more tokens than trigger', { keepTokens: 90_000 }, 'keepTokens'],
    ['tiers above the trigger', { memoryTiers: {}, triggerMessages: 50 }, 'memoryTiers'],
    ['tiers and kept tokens', { memoryTiers: {}, keepTokens: 900 }, 'keepTokens'],
    ['a budget above the window', { maxTokens: 9_000, contextWindow: 8_000 }, 'maxTokens'],
    [
      'a trim threshold above the budget',
      { trimSynthetic: { trimThreshold: 0.9 } },
      'trimSynthetic.trimThreshold',
    ],
    [
      'a marker longer than the argument',
      { truncateArgs: { maxArgLength: 10 } },
      'truncateArgs.maxArgLength',
    ],
    ['a model and none', { model: modelOf(() => ''), summarizer: 'none' }, 'summarizer'],
    ['an empty strategy', { strategy: [] }, 'strategy'],
    ['a model that is none', { model: 'gpt' }, 'model'],
  ])('refuses %s', (_, config, path) => {
    expect(problemOf(config)).toContain(path);
  });

  it('says which key is wrong, and what to do', () => {
    expect(() => createCompactor({ trigger: { share: 85 } })).toThrow(
      /budgetPercent: is a share between 0 and 1/,
    );
    expect(() => compaction({ trigger: { messages: 5 }, keep: { messages: 9 } })).toThrow(
      /due again at once/,
    );
    expect(() => compaction({ beforeCompactions: () => {} } as never)).toThrow(/beforeCompactions/);
  });

  it('takes 0 for 0', async () => {
    const off = createCompactor({
      trigger: { share: 0 },
    });
    expect(compactionConfigSchema.parse({ triggerMessages: 0 }).triggerMessages).toBe(0);
    const huge = [
      { id: 'm', role: 'user', content: [{ type: 'text', text: 'x '.repeat(400_000) }], createdAt: '' },
    ] as const;
    const outcome = await off.compact(huge, { reason: 'proactive_budget' });
    expect(outcome.status).toBe('skipped');
  });
});

describe('evictionConfigSchema', () => {
  it('has the documented defaults, and refuses a preview as long as the result', () => {
    expect(evictionConfigSchema.parse({})).toMatchObject({
      maxResultChars: 80_000,
      previewChars: 2_000,
      maxUserChars: 200_000,
      evictionPath: '/large_tool_results',
    });
    expect(evictionConfigSchema.safeParse({ maxResultChars: 4_000 }).success).toBe(false);
    expect(evictionConfigSchema.safeParse({ maxChars: 4_000 }).success).toBe(false);
    expect(evictionConfigSchema.safeParse({ evictionPath: '/out/../..' }).success).toBe(false);
  });
});
