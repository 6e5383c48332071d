import { type ModelResponse, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import type { CompactionCapabilitySettings } from '../../src/capability/capability-config.js';
import { compaction, createCompactor } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';
import { scopeOf } from '../scope.js';

const history = () => [userMessage('fix the login'), ...rounds(30, () => ({ output: lines(40) }))];
const reporting = (inputTokens: number): ModelResponse => ({
  content: [{ type: 'text', text: 'ok' }],
  finishReason: 'stop',
  usage: { inputTokens, outputTokens: 1 },
});

describe('a summarizer', () => {
  it.each([2_000, 8_000, 128_000, 1_000_000])(
    'with a window of %i is asked for no more than it can write',
    async (contextWindow) => {
      const model = modelOf(() => GOOD_SUMMARY, { contextWindow });
      await createCompactor({ stages: ['summarize', 'drop_oldest'], model, contextWindow: 200_000 }).compact(
        history(),
      );
      expect(model.requests.length).toBeGreaterThan(0);
      for (const { maxOutputTokens } of model.requests) {
        expect(maxOutputTokens).toBeGreaterThan(0);
        expect(maxOutputTokens).toBeLessThanOrEqual(Math.min(4_000, contextWindow / 4));
      }
    },
  );
});

describe('usage that a provider reports', () => {
  it('says nothing about a conversation that was compacted while the call was under way', async () => {
    const scope = scopeOf(history());
    const capability = compaction({ model: null });
    await capability.aroundReason?.(scope, async () => {
      expect((await capability.compact?.(scope, {}))?.status).toBe('applied');
      return reporting(1_000_000);
    });
    expect(scope.state.extensions.compaction).not.toHaveProperty('calibration');
    scope.state.contextMutable().push(userMessage('word '.repeat(30_000)));
    await capability.aroundReason?.(scope, async () => reporting(32_000));
    expect(scope.state.extensions.compaction).toHaveProperty('calibration');
  });
});

describe('a listener', () => {
  it.each<[string, CompactionCapabilitySettings]>([
    ['applied', { model: null }],
    ['skipped', { model: null, beforeCompaction: () => ({ skip: true }) }],
    [
      'failed',
      {
        stages: ['summarize', 'drop_oldest'],
        model: modelOf(() => ''),
        summary: { fallback: 'none' as const },
      },
    ],
    ['ineffective', { model: null, saving: { tokens: 1_000_000 } }],
  ])('hears that a compaction begins, and that it was %s and why', async (status, config) => {
    const scope = scopeOf(history());
    const outcome = await compaction(config).compact?.(scope, { instructions: 'keep the ids' });
    expect(outcome?.status).toBe(status);
    expect(scope.events.filter(({ type }) => type.startsWith('context.'))).toMatchObject([
      { type: 'context.compacting', reason: 'manual', messagesBefore: 61 },
      { type: 'context.compacted', status, message: outcome?.message },
    ]);
    expect(outcome?.message).not.toBe('');
  });
});
