import { InvalidInputError } from '@x/core';
import { describe, expect, it } from 'vitest';
import { parseCompactionConfig, resolveCompactionConfig } from '../../src/index.js';

const agent = (compaction: unknown) => ({ name: 'coder', features: { compaction } });

describe('resolveCompactionConfig', () => {
  it('takes an agent’s front matter before compaction.yaml before the program before the defaults, key by key', () => {
    const { options } = resolveCompactionConfig({
      frontMatter: agent({ trigger_messages: 30, preview_args: { mode: 'iteration' } }),
      file: {
        trigger_messages: 40,
        trigger_tokens: 9_000,
        preview_args: { arg_threshold: 300, mode: 'off' },
      },
      defaults: { trigger_tokens: 7_000, chunks: 3 },
    });
    expect(options).toMatchObject({
      triggerMessages: 30,
      triggerTokens: 9_000,
      chunks: 3,
      budgetPercent: 0.85,
      previewArgs: { mode: 'iteration', argThreshold: 300, protectPercent: 0.3 },
    });
  });

  it('takes 0 and false for said, and nothing for nothing', () => {
    const { options } = resolveCompactionConfig({
      frontMatter: agent({ trigger_tokens: 0, reference_media: false }),
      file: { ref: 'compaction', config: { trigger_tokens: 9_000, reference_media: { keep_user_turns: 5 } } },
    });
    expect(options).toMatchObject({ triggerTokens: 0, referenceMedia: false });
    expect(resolveCompactionConfig({})).toEqual(parseCompactionConfig({}));
    expect(resolveCompactionConfig({ frontMatter: { name: 'coder' }, file: null })).toEqual(
      parseCompactionConfig({}),
    );
  });

  it('lets whoever is nearer say the same in another way', () => {
    const file = { budget_percent: 0.9, prompt: 'short', keep_tokens: 500 };
    expect(
      resolveCompactionConfig({
        frontMatter: agent({ threshold: 70, agent: 'writer', memory_tiers: { hot_messages: 5 } }),
        file,
      }),
    ).toMatchObject({
      options: { budgetPercent: 0.7, keepTokens: 0, memoryTiers: { hotMessages: 5, warmMessages: 100 } },
      agent: 'writer',
      prompt: undefined,
    });
    expect(resolveCompactionConfig({ frontMatter: agent({ summarizer: 'none' }), file })).toMatchObject({
      options: { summarizer: 'none' },
      prompt: undefined,
    });
  });

  it.each([
    ['an unknown key, wherever it stands', { file: { keep_mesages: 3 } }, 'keep_mesages'],
    ['what is no object', { frontMatter: agent(true) }, 'must be an object'],
    [
      'what two places make of it together',
      { frontMatter: agent({ trigger_messages: 10 }), file: { keep_messages: 12 } },
      'keep_messages',
    ],
  ])('refuses %s', (_, sources, message) => {
    const resolve = () => resolveCompactionConfig(sources);
    expect(resolve).toThrow(InvalidInputError);
    expect(resolve).toThrow(message);
  });
});
