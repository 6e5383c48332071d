import { describe, expect, it } from 'vitest';
import { toUsage } from '../../src/response/to-response.js';

const none = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };

describe('toUsage', () => {
  it.each([
    ['V2', { inputTokens: 5, outputTokens: 3 }, { inputTokens: 5, outputTokens: 3 }],
    ['V2, output unknown', { inputTokens: 5, outputTokens: undefined }, { inputTokens: 5, outputTokens: 0 }],
    ['V2, nothing', { inputTokens: undefined, outputTokens: undefined }, undefined],
    ['V2, zeros', { inputTokens: 0, outputTokens: 0 }, undefined],
    ['V3, nothing', { inputTokens: none, outputTokens: { total: undefined } }, undefined],
    [
      'V3, cache alone',
      { inputTokens: { ...none, cacheRead: 4 }, outputTokens: { total: 2 } },
      { inputTokens: 4, outputTokens: 2, cachedInputTokens: 4 },
    ],
    [
      'V3, cache of nothing',
      {
        inputTokens: { ...none, total: 7, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 2, reasoning: 0 },
      },
      { inputTokens: 7, outputTokens: 2, cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
    ],
  ])('%s', (_, given, expected) => {
    expect(toUsage(given)).toEqual(expected);
  });
});
