import { userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { trimSynthetic } from '../../src/index.js';
import { budgetOf, reduceWith, rounds, viewOf } from '../build.js';

const reminder = (text: string) => userMessage(text, { kind: 'synthetic' });

describe('trimSynthetic', () => {
  it('keeps the last of each set of identical injected messages and nothing else changes', async () => {
    const first = reminder('be brief');
    const user = userMessage('be brief');
    const other = reminder('use the tools');
    const last = reminder('be brief');
    const { messages, fates } = await reduceWith(trimSynthetic(), [first, user, other, ...rounds(1), last]);
    expect(messages).not.toContain(first);
    expect(messages).toEqual(expect.arrayContaining([user, other, last]));
    expect(fates).toEqual([{ messageId: first.id, fate: 'trimmed' }]);
  });

  it('runs early from a share of the window or a number of tokens on, where either is named', () => {
    const view = viewOf([userMessage('x'.repeat(400))], 15_950);
    const half = trimSynthetic({ trimThreshold: 0.5 });
    expect(half.isDueEarly?.(view, budgetOf({ contextWindow: 32_000 }))).toBe(true);
    expect(half.isDueEarly?.(view, budgetOf({ contextWindow: 64_000 }))).toBe(false);
    expect(
      trimSynthetic({ trimMaxTokens: 1_000 }).isDueEarly?.(view, budgetOf({ contextWindow: 64_000 })),
    ).toBe(true);
    expect(trimSynthetic().isDueEarly?.(view, budgetOf({ contextWindow: 100 }))).toBe(false);
  });
});
