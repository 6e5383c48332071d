import { describe, expect, it } from 'vitest';
import { ContextOverflowError } from '../../src/index.js';
import { mayBeOverflow, overflowFigures } from '../../src/internal.js';
import { httpError } from './model-errors/shapes.js';

const said = (message: string, status = 400) => httpError(status, { error: { message } });

describe('overflowFigures', () => {
  it.each([
    [
      "This model's maximum context length is 15000 tokens. However, your messages resulted in 16151 tokens.",
      15_000,
      16_151,
    ],
    [
      'You requested 18022 tokens (14022 in your prompt; 4000 for the completion), maximum context length 16384.',
      12_384,
      14_022,
    ],
    ['prompt is too long: 208310 tokens > 200000 maximum', 200_000, 208_310],
    ['input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000', 180_000, 199_000],
    [
      'The input token count (1,250,000) exceeds the maximum number of tokens allowed (1,048,576).',
      1_048_576,
      1_250_000,
    ],
    [
      '`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 `max_new_tokens`',
      3_584,
      5_000,
    ],
    [
      "'max_tokens' is too large: 8000. This model's maximum context length is 32000 tokens and your request has 24100 input tokens (8000 > 32000 - 24100).",
      24_000,
      24_100,
    ],
    [
      "You passed 24001 input tokens and requested 8000 output tokens. However, the model's context length is only 32000 tokens, resulting in a maximum input length of 24000 tokens.",
      24_000,
      24_001,
    ],
    ['input length 9000 exceeds the maximum length 8192', 8_192, 9_000],
    ['supports only 128k context, got 140233', 128_000, 140_233],
    ['输入超过最大长度 8192，实际 9000', 8_192, 9_000],
    ['exceeded model token limit: 262144 (requested: 291351)', 262_144, 291_351],
  ])('reads both numbers of: %s', (text, contextWindow, inputTokens) => {
    expect(overflowFigures(said(text))).toEqual({ contextWindow, inputTokens });
  });

  it.each([
    ['maximum context length is 8192 tokens', 8_192],
    ['Range of input length should be [1, 30720]', 30_720],
  ])('reads the window alone where the size is not told: %s', (text, contextWindow) => {
    expect(overflowFigures(said(text))).toEqual({ contextWindow });
  });

  it.each([
    'Your input exceeds the context window of this model.',
    'Request exceeds the maximum size of 33554432 bytes (limit 32 MB)',
    'context window exceeds limit (13)',
  ])('reads nothing where tokens are not told: %s', (text) => {
    expect(overflowFigures(said(text))).toEqual({});
  });

  it('takes what an adapter has read, and the window that it knows', () => {
    expect(overflowFigures(new ContextOverflowError('No.', { inputTokens: 9, contextWindow: 8 }))).toEqual({
      inputTokens: 9,
      contextWindow: 8,
    });
    expect(overflowFigures(new ContextOverflowError('No.', { contextWindow: 8 }))).toEqual({
      contextWindow: 8,
    });
  });
});

describe('mayBeOverflow', () => {
  it.each([
    [400, 'Die Anfrage ist zu lang.', true],
    [422, 'Unprocessable', true],
    [400, 'The content policy was violated.', false],
    [401, 'maximum context length is 8192 tokens', false],
    [404, 'No such model.', false],
    [429, 'Slow down.', false],
    [500, 'Oops', false],
  ])('%i "%s": %s', (status, text, expected) => {
    expect(mayBeOverflow(said(text, status))).toBe(expected);
  });
});
