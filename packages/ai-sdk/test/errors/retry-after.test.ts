import { describe, expect, it } from 'vitest';
import { pauseIn, retryAfterMs } from '../../src/errors/to-model-error.js';

describe('retryAfterMs', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');

  it.each([
    [{ 'retry-after': '1.5' }, 1_500],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '9', 'retry-after-ms': '120' }, 120],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{}, undefined],
  ])('%j', (headers, expected) => {
    expect(retryAfterMs(headers, now)).toBe(expected);
  });
});

describe('pauseIn', () => {
  it.each([
    ['Rate limit reached for gpt-4o: Limit 30000. Please try again in 8.25s. Visit https://x', 8_250],
    ['Please try again in 20ms.', 20],
    ['Please try again in 7m12.5s', 432_500],
    ['Quota exceeded. Please retry in 21s.', 21_000],
    ['Please retry after 26 seconds.', 26_000],
    ['Try again in 2 hours 5 minutes', 7_500_000],
    ['Please try again in 1 minute and 30 seconds.', 90_000],
    ['Please retry after 500 milliseconds.', 500],
    ['Please try again in 1d2h.', 93_600_000],
    ['Please try again later.', undefined],
    ['Please try again in a minute', undefined],
  ])('%s', (text, expected) => {
    expect(pauseIn(['The call failed.', text])).toBe(expected);
  });
});
