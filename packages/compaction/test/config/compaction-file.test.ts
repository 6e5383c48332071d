import { describe, expect, it } from 'vitest';
import { compactionJsonSchema, parseCompactionConfig, resolveCompactionConfig } from '../../src/index.js';

describe('parseCompactionConfig', () => {
  it('reads groups in snake_case, alone, under compaction, or under ref and config', () => {
    const written = { trigger: { tokens: 9_000 }, summary: { max_tokens: 700 }, context_window: 30_000 };
    const read = parseCompactionConfig(written);
    expect(read.options).toMatchObject({ trigger: { tokens: 9_000 }, summary: { maxTokens: 700 } });
    expect(parseCompactionConfig({ compaction: written })).toEqual(read);
    expect(parseCompactionConfig({ ref: 'compaction', config: written })).toEqual(read);
  });

  it.each<[object, string]>([
    [{ keep: { mesages: 3 } }, 'keep.mesages: unknown key'],
    [
      { trigger: { messages: 3 }, keep: { messages: 3 } },
      'keep.messages: 3 must be below trigger.messages 3',
    ],
    [{ contextWindow: 3 }, 'unknown key; in a file, write context_window'],
    [{ preset: 'aura', threshold: 40, trim_threshold: 50 }, 'trim_threshold: 50 must be below threshold 40'],
    [{ preset: 'everruns', keep: {} }, 'keep: unknown key'],
    [{ ref: 'compaction', keep: {} }, 'keep: unknown key; options belong under config'],
    [
      { threshold: 80, strategy: 'auto', chunks: 2 },
      'has keys of 2 presets: strategy of everruns, threshold, chunks of aura. Use the keys of only one preset.',
    ],
    [{ prune: { protect_percent: 0.3 } }, 'prune.protect_percent: is in percent: write 30 for 30 %'],
    [{ budget_percent: 70 }, 'budget_percent: is a share between 0.1 and 1: write 0.7 for 70 %'],
    [{ threshold: 0.8 }, 'threshold: is in percent: write 80 for 80 %'],
    [{ '// my threshold "threshold"': 80 }, 'contains a comment that begins with //. Use # instead'],
  ])('refuses %j in the words of the file', (written, message) => {
    expect(() => parseCompactionConfig(written)).toThrow(message);
  });

  it('takes null for what Aura leaves empty', () => {
    const { prompt, agent } = parseCompactionConfig({ threshold: 80, prompt: null, agent: null });
    expect([prompt, agent]).toEqual([undefined, undefined]);
  });

  it('takes one word for the name of a prompt, and more for the prompt', () => {
    expect(parseCompactionConfig({ summary: { prompt: 'short' } }).prompt).toBe('short');
    const { options, prompt } = parseCompactionConfig({ summary: { prompt: 'Be short.' } });
    expect(prompt).toBeUndefined();
    expect(options).toMatchObject({ summary: { prompt: 'Be short.' } });
  });

  it('has a JSON Schema with the keys of groups and presets', () => {
    const text = JSON.stringify(compactionJsonSchema);
    for (const key of ['context_window', 'keep_last_messages', 'memory_tiers', 'trigger_messages']) {
      expect(text).toContain(`"${key}"`);
    }
  });
});

describe('resolveCompactionConfig', () => {
  const resolve = (own: object, file: object, defaults = {}) =>
    resolveCompactionConfig({ frontMatter: { features: { compaction: own } }, file, defaults });

  it('warns of an ignored layer', () => {
    const told: string[] = [];
    const { options } = resolveCompactionConfig({
      frontMatter: { features: { compaction: { strategy: 'auto' } } },
      file: { threshold: 70 },
      onWarning: (message) => void told.push(message),
    });
    expect(options).toMatchObject({ preset: 'everruns' });
    expect(told).toEqual([
      "compaction.yaml is ignored: its keys are those of preset aura, but the agent's own file has keys of preset everruns",
    ]);
  });

  it('lets the nearest layer speak, key by key, and sizes of a group together', () => {
    const { options } = resolve(
      { trigger: { tokens: 5_000 }, keep: { messages: 4 } },
      { trigger: { share: 0.7 }, keep: { tokens: 300, users: 0.1 }, summary: { record: 0.3 } },
    );
    expect(options).toMatchObject({
      trigger: { tokens: 5_000 },
      keep: { messages: 4, users: 0.1 },
      summary: { record: 0.3 },
    });
    expect(options).not.toHaveProperty('trigger.share');
    expect(options).not.toHaveProperty('keep.tokens');
  });

  it('merges `saving` key by key, and treats `keep.outputs` as a size', () => {
    const { options } = resolve(
      { saving: { share: 0.2 }, keep: { outputs: 3 } },
      { saving: { tokens: 5_000 }, keep: { messages: 5 } },
    );
    expect(options).toMatchObject({ saving: { share: 0.2, tokens: 5_000 }, keep: { outputs: 3 } });
    expect(options).not.toHaveProperty('keep.messages');
  });

  it('merges the other keys of `trigger`, and ignores the `target` of a farther layer', () => {
    const file = { trigger: { tokens: 5_000, bytes: 400 }, target: { tokens: 3_000 } };
    expect(resolve({ trigger: { share: 0.7 } }, file).options).toMatchObject({
      trigger: { share: 0.7, bytes: 400 },
    });
    const { options } = resolve({ trigger: { bytes: 500 } }, file);
    expect(options).toMatchObject({ trigger: { tokens: 5_000, bytes: 500 } });
    expect(options).not.toHaveProperty('target');
  });

  it('reads the keys of an agent by the preset that compaction.yaml names', () => {
    const { options } = resolve({ keep_last_messages: 5 }, { preset: 'aura', threshold: 70 });
    expect(options).toMatchObject({ preset: 'aura', keepLastMessages: 5, threshold: 70 });
  });

  it('forgets farther layers when an agent names another preset', () => {
    const { options } = resolve({ preset: 'everruns' }, { preset: 'aura', threshold: 70 });
    expect(options).toMatchObject({ preset: 'everruns', budgetPercent: 0.85 });
  });

  it('names the file in which a mistake stands', () => {
    expect(() => resolve({}, { keep_last_mesages: 3 })).toThrow(
      'Invalid compaction.yaml: keep_last_mesages: unknown key',
    );
    expect(() => resolve({ kep: 3 }, {})).toThrow('Invalid compaction configuration: kep: unknown key');
  });
});
