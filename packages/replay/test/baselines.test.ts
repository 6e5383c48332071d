import { assistantMessage, type Message, textOf, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { pairingViolations } from '../src/pairing-violations.js';
import { keepTail, maskOutputs, maskThenTail } from '../src/strategies/baselines.js';
import type { ReplaySetting } from '../src/strategy.js';

const counter = { name: 'letters', count: (text: string) => text.length };
const setting: ReplaySetting = { window: 4_000, peak: 0, trigger: 2_000, counter, system: '', overhead: 0 };

function rounds(count: number, length: number): readonly Message[] {
  const messages = [userMessage('go')];
  for (let round = 0; round < count; round++) {
    const call = { id: `c${round}`, name: 'look' };
    messages.push(
      assistantMessage([{ type: 'tool_use', ...call, input: { round } }]),
      toolResultMessage(call, 'x'.repeat(length)),
    );
  }
  return messages;
}

describe('baselines', () => {
  it('leave a conversation below the trigger alone', async () => {
    for (const strategy of [keepTail(4), maskOutputs(1), maskThenTail(1, 4)]) {
      expect(await strategy(setting)(rounds(5, 10))).toBeUndefined();
    }
  });

  it('keep the tail without results whose call is gone', async () => {
    const messages = rounds(20, 100);
    const reduced = await keepTail(5)(setting)(messages);
    expect(reduced?.messages).toEqual(messages.slice(-4));
    expect(pairingViolations(reduced?.messages ?? [])).toBe(0);
    expect(reduced?.manifest).toHaveLength(messages.length - 4);
  });

  it('mask all outputs but the newest', async () => {
    const messages = rounds(20, 100);
    const reduced = await maskOutputs(2)(setting)(messages);
    const outputs = reduced?.messages
      .filter(({ role }) => role === 'tool')
      .map((message) => textOf(message).length);
    expect(outputs?.slice(-2)).toEqual([100, 100]);
    expect(Math.max(...(outputs?.slice(0, -2) ?? []))).toBeLessThan(100);
    expect(reduced?.manifest.map(({ fate }) => fate)).toEqual(Array(18).fill('masked'));
  });

  it('drop only where masking is not enough', async () => {
    const masked = await maskThenTail(2, 4)(setting)(rounds(20, 100));
    expect(masked?.messages).toHaveLength(41);
    const cut = await maskThenTail(2, 4)(setting)(rounds(60, 100));
    expect(cut?.messages).toHaveLength(4);
    expect(new Set(cut?.manifest.map(({ fate }) => fate))).toEqual(new Set(['dropped']));
  });
});
