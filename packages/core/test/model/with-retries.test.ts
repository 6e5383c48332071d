import { expect, it } from 'vitest';
import { ModelError } from '../../src/errors/model-error.js';
import { withRetries } from '../../src/model/with-retries.js';

it.each([
  [undefined, 4],
  [1, 2],
  [0, 1],
  [9, 4],
])('asks no more often than an error is worth it: %s', async (maxRetries, attempts) => {
  let asked = 0;
  const ask = () => {
    asked++;
    return Promise.reject(new ModelError('Broken', { retryable: true, maxRetries }));
  };
  await expect(withRetries(ask, { maxRetries: 3, retryDelayMs: 0 })).rejects.toThrow('Broken');
  expect(asked).toBe(attempts);
});
