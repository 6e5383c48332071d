import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addUsage, type Usage } from '../../src/index.js';

const tokens = fc.nat(1_000_000);
const optionalTokens = fc.option(tokens, { nil: undefined });
const usage: fc.Arbitrary<Usage> = fc.record({
  inputTokens: tokens,
  outputTokens: tokens,
  cachedInputTokens: optionalTokens,
  cacheWriteTokens: optionalTokens,
  reasoningTokens: optionalTokens,
});

describe('addUsage', () => {
  test('adds every count', () => {
    expect(
      addUsage(
        { inputTokens: 10, outputTokens: 1, cachedInputTokens: 4, reasoningTokens: 0 },
        { inputTokens: 20, outputTokens: 2, cacheWriteTokens: 5, reasoningTokens: 3 },
      ),
    ).toEqual({
      inputTokens: 30,
      outputTokens: 3,
      cachedInputTokens: 4,
      cacheWriteTokens: 5,
      reasoningTokens: 3,
    });
  });

  test('leaves absent what neither reported, and does not take it for 0', () => {
    const sum = addUsage(
      { inputTokens: 1, outputTokens: 1 },
      { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
    );
    expect(sum.cachedInputTokens).toBe(0);
    expect(sum.cacheWriteTokens).toBeUndefined();
    expect(sum.reasoningTokens).toBeUndefined();
  });

  test('is commutative and associative', () => {
    fc.assert(
      fc.property(usage, usage, usage, (a, b, c) => {
        expect(addUsage(a, b)).toEqual(addUsage(b, a));
        expect(addUsage(addUsage(a, b), c)).toEqual(addUsage(a, addUsage(b, c)));
      }),
    );
  });
});
