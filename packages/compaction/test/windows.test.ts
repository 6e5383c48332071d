import { assistantMessage, userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compactionConfigSchema } from '../src/config/compaction-config.js';
import { compaction, createCompactor } from '../src/index.js';
import { budgetFor, contextWindowOf, FALLBACK_CONTEXT_WINDOW, isDue } from '../src/run/budget.js';
import { lines, rounds } from './build.js';
import { modelOf, said } from './models.js';
import { scopeOf } from './scope.js';

const window = fc.oneof(
  fc.constantFrom(4_000, 8_192, 32_000, 128_000, 200_000, 1_000_000, 2_000_000),
  fc.integer({ min: 4_000, max: 2_000_000 }),
);
const defaults = compactionConfigSchema.parse({});
const byTokens = compactionConfigSchema.parse({ trigger: { tokens: 3_000 } });

describe('windows from 4 thousand to 2 million tokens', () => {
  it('have a trigger above 0 and below the window, and a target below the trigger', () => {
    fc.assert(
      fc.property(window, fc.constantFrom(defaults, byTokens), (contextWindow, config) => {
        const { dueTokens, targetTokens } = budgetFor(config, 'proactive_budget', contextWindow, 0);
        expect(targetTokens).toBeGreaterThan(0);
        expect(targetTokens).toBeLessThan(dueTokens);
        expect(dueTokens).toBeLessThan(contextWindow);
        expect(isDue(config, contextWindowOf(contextWindow), dueTokens, 1)).toBe(true);
        expect(isDue(config, contextWindowOf(contextWindow), targetTokens, 1)).toBe(false);
      }),
    );
  });

  it('are used up to three quarters at least, where nothing but the window limits', () => {
    fc.assert(
      fc.property(window, (contextWindow) => {
        const { dueTokens } = budgetFor(defaults, 'proactive_budget', contextWindow, 0);
        expect(dueTokens).toBeGreaterThanOrEqual(contextWindow * 0.75);
      }),
    );
  });

  it('are not compacted again right after a compaction', { timeout: 300_000 }, async () => {
    const small = fc.integer({ min: 4_000, max: 40_000 });
    await fc.assert(
      fc.asyncProperty(small, async (contextWindow) => {
        const scope = scopeOf(
          rounds(30, () => ({ output: lines(contextWindow / 40) })),
          { model: modelOf(() => 'unused', { contextWindow }) },
        );
        const capability = compaction({ model: null });
        const step = () => capability.aroundReason?.(scope, async () => said('done'));
        const counts: number[] = [];
        for (let index = 0; index < 3; index++) {
          await step();
          counts.push(scope.events.filter((event) => event.type === 'context.compacted').length);
        }
        expect(counts).toEqual([1, 1, 1]);
        expect(scope.events).toContainEqual(expect.objectContaining({ status: 'applied' }));
      }),
      { numRuns: 15 },
    );
  });
});

describe('a window that nobody knows', () => {
  it('is taken to be the declared fallback, and the capability says so, once a model', async () => {
    const scope = scopeOf([], {
      model: modelOf(() => 'unused', { id: 'acme:new', contextWindow: undefined }),
    });
    const capability = compaction({ model: null });
    for (let index = 0; index < 3; index++) await capability.aroundReason?.(scope, async () => said('done'));
    expect(scope.events).toEqual([
      {
        type: 'warning',
        source: 'compaction',
        message: expect.stringContaining(
          `acme:new is unknown; ${FALLBACK_CONTEXT_WINDOW} tokens are assumed`,
        ),
      },
    ]);
  });

  it('makes a compactor do what it does for the fallback', async () => {
    const messages = [
      userMessage('go'),
      ...rounds(12, () => ({ output: lines(5_000) })),
      assistantMessage('ok'),
    ];
    const options = { model: null };
    const report = async (contextWindow?: number) => {
      const compactor = createCompactor(
        contextWindow === undefined ? options : { ...options, contextWindow },
      );
      const { status, tokensAfter } = await compactor.compact(messages, { reason: 'proactive_budget' });
      return { status, tokensAfter };
    };
    expect(await report()).toEqual(await report(FALLBACK_CONTEXT_WINDOW));
    expect(await report()).toMatchObject({ status: 'applied' });
    expect(await report(2_000_000)).toMatchObject({ status: 'skipped' });
  });
});
