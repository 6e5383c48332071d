import { describe, expect, it } from 'vitest';
import { parseCompactionConfig, resolveSummarizer } from '../../src/index.js';
import { modelOf } from '../models.js';

const scribe = modelOf(() => '', { id: 'scribe' });
const standard = modelOf(() => '', { id: 'standard' });
const sources = {
  prompts: { short: 'Be short.' },
  agents: { scribe: { model: scribe, summaryPrompt: 'Write minutes.' }, plain: { model: scribe } },
  defaultModel: standard,
};
const resolve = (file: object, from: Parameters<typeof resolveSummarizer>[1] = sources) =>
  resolveSummarizer(parseCompactionConfig(file), from);

describe('resolveSummarizer', () => {
  it('goes from prompt to agent to default to nobody', () => {
    expect(resolve({ summary: { prompt: 'short' }, model: 'scribe' })).toEqual({
      model: scribe,
      prompt: 'Be short.',
    });
    expect(resolve({ preset: 'aura', prompt: 'short', agent: 'scribe' })).toEqual({ prompt: 'Be short.' });
    expect(resolve({ preset: 'aura', agent: 'scribe' })).toEqual({ model: scribe, prompt: 'Write minutes.' });
    expect(resolve({ model: 'plain' })).toEqual({ model: scribe });
    expect(resolve({})).toEqual({ model: standard });
    expect(resolve({}, { ...sources, defaultModel: 'own' })).toEqual({});
    expect(resolve({}, {})).toEqual({ model: null });
  });

  it('has nobody where none is wanted', () => {
    expect(resolve({ model: null })).toEqual({ model: null });
  });

  it('refuses names that nothing has', () => {
    expect(() => resolve({ summary: { prompt: 'long' } })).toThrow(
      'there is no prompt named "long" (known: short)',
    );
    expect(() => resolve({ model: 'toString' })).toThrow('no model named "toString" (known: plain, scribe)');
  });
});
