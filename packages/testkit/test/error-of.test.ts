import { SessionConflictError } from '@x/core';
import { expect, test } from 'vitest';
import { errorOf } from '../src/error-of.js';

test.each([
  ['success', async () => 3, /must fail with SessionConflictError, but it returned 3/],
  ['another error', () => Promise.reject(new TypeError('boom')), /but it failed with TypeError: boom/],
  ['something that is not an error', () => Promise.reject('boom'), /but it failed with string: boom/],
])('errorOf says what happened instead: %s', async (_, operate, message) => {
  await expect(errorOf(SessionConflictError, operate())).rejects.toThrow(message);
});
