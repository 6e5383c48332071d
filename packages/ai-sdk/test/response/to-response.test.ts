import { ContextOverflowError } from '@x/core';
import { describe, expect, it } from 'vitest';
import { toResponse } from '../../src/response/to-response.js';

const model = { id: 'acme:large', provider: 'acme.chat', contextWindow: 1_000 };
const answer = (finishReason: string, inputTokens: number | undefined, text = '') =>
  toResponse(
    {
      content: [{ type: 'text', text }],
      finishReason,
      usage: { inputTokens, outputTokens: text === '' ? 0 : 1 },
    },
    model,
  );

describe('toResponse', () => {
  it('refuses an answer to more than the window holds', () => {
    for (const ask of [
      () => answer('length', 1_001),
      () => answer('stop', 1_001, 'Hm'),
      () => answer('length', 1_000),
    ]) {
      expect(ask).toThrow(ContextOverflowError);
    }
  });

  it('takes every other answer', () => {
    expect(answer('stop', 1_000, 'Yes').finishReason).toBe('stop');
    expect(answer('length', 1_000, 'Cut').finishReason).toBe('length');
    expect(answer('length', 500).content).toEqual([]);
    expect(answer('length', undefined).usage).toBeUndefined();
  });
});
