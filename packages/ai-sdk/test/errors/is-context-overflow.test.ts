import { APICallError } from '@ai-sdk/provider';
import { isContextOverflow as coreIsContextOverflow } from '@x/core';
import { describe, expect, it } from 'vitest';
import { isContextOverflow } from '../../src/index.js';

const apiError = (statusCode: number, data: { readonly error: object }) =>
  new APICallError({
    message: 'The call failed',
    url: 'https://api.test/v1',
    requestBodyValues: { prompt: 'prompt is too long' },
    statusCode,
    responseBody: JSON.stringify(data),
    data,
  });

describe('isContextOverflow', () => {
  it('is the one of core', () => {
    expect(isContextOverflow).toBe(coreIsContextOverflow);
  });

  it('reads the provider’s answer inside an error of the AI SDK, and never the request', () => {
    expect(isContextOverflow(apiError(400, { error: { code: 'context_length_exceeded' } }))).toBe(true);
    expect(isContextOverflow(apiError(400, { error: { message: 'prompt is too long: 2 > 1' } }))).toBe(true);
    expect(isContextOverflow(apiError(400, { error: { message: 'Unknown parameter' } }))).toBe(false);
  });
});
