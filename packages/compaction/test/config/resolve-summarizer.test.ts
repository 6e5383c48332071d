import { ContextOverflowError, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor, fallbackModel, parseCompactionConfig, resolveSummarizer } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

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
    expect(resolve({ preset: 'aura', agent: 'short' })).toEqual({ prompt: 'Be short.' });
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

describe('several summarizers', () => {
  const down = (error: unknown = new Error('503')) => modelOf(() => Promise.reject(error), { id: 'down' });

  it('named by a file take over from each other, and the summary is the narrative of the one that answers', async () => {
    const answers = modelOf(() => GOOD_SUMMARY, { id: 'answers', contextWindow: 50_000 });
    const agents = { first: { model: down(), summaryPrompt: 'Write minutes.' }, second: { model: answers } };
    const { model, prompt } = resolve({ model: ['first', 'second'] }, { agents });
    expect(model).toMatchObject({ id: 'down', contextWindow: 50_000 });
    expect(prompt).toBe('Write minutes.');
    const talk = [userMessage('go'), ...rounds(30, () => ({ output: lines(300) }))];
    const compactor = createCompactor({ contextWindow: 20_000, model: model ?? null, stages: ['summarize'] });
    const { messages } = await compactor.compact(talk, { reason: 'proactive_budget' });
    expect(JSON.stringify(messages)).toContain('Fix the login.');
    expect(() => resolve({ model: ['first', 'none'] }, { agents })).toThrow('no model named "none"');
  });

  it('give up with the error of the last, and at once where no other could help', async () => {
    const request = { messages: [], tools: [] };
    const last = down(new Error('401'));
    await expect(fallbackModel(down(), down(), last).generate(request)).rejects.toThrow('401');
    const spare = modelOf(() => 'no');
    const overflow = new ContextOverflowError('too long', {});
    await expect(fallbackModel(down(overflow), spare).generate(request)).rejects.toBe(overflow);
    const signal = AbortSignal.abort();
    await expect(fallbackModel(down(), spare).generate({ ...request, signal })).rejects.toThrow('503');
    expect(spare.requests).toHaveLength(0);
  });
});
