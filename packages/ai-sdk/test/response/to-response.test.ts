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

  it('stores a streamed answer and a generated one alike, without the beginning that only a stream has', () => {
    const content = [{ type: 'text', text: 'Hi' }] as const;
    const start = {
      type: 'custom',
      kind: 'anthropic.message_start',
      providerMetadata: { anthropic: { usage: { input_tokens: 3 } } },
    } as const;
    const given = { finishReason: 'stop', usage: {} };
    expect(toResponse({ ...given, content: [start, ...content] }, model).content).toEqual(
      toResponse({ ...given, content }, model).content,
    );
    const kept = {
      type: 'custom',
      kind: 'acme.compaction',
      providerMetadata: { acme: { id: '1' } },
    } as const;
    expect(toResponse({ ...given, content: [kept] }, model).content).toHaveLength(1);
  });

  it('pairs the halves of a call that the provider ran', () => {
    const blocks = toResponse(
      {
        content: [
          { type: 'tool-call', toolCallId: 's1', toolName: 'web', input: '{}', providerExecuted: true },
          { type: 'tool-result', toolCallId: 's1' },
        ],
        finishReason: 'stop',
        usage: {},
      },
      model,
    ).content;
    expect(blocks).toMatchObject([
      { type: 'opaque', callId: 's1', half: 'call' },
      { type: 'opaque', callId: 's1', half: 'result' },
    ]);
  });
});
