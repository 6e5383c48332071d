import { toolUsesOf } from '@x/core';
import { describe, expect, it } from 'vitest';
import { previewArgs } from '../../src/index.js';
import { at, budgetOf, reduceWith, round, rounds, viewOf } from '../build.js';

const big = 'const answer = 42; '.repeat(100);

describe('previewArgs', () => {
  it('shortens large arguments beyond the protected part of the window, names and short values exactly', async () => {
    const messages = [
      ...round({ name: 'write_file', input: { path: 'src/a.ts', content: big, mode: 7 } }),
      ...round({ name: 'write_file', input: { path: 'src/b.ts', content: 'short' } }),
      ...rounds(3),
    ];
    const stage = previewArgs({ mode: 'compaction', protectPercent: 0.001 });
    const { messages: after, fates } = await reduceWith(stage, messages);
    const input = toolUsesOf(at(after, 0))[0]?.input as { path: string; content: string; mode: number };
    expect(input.path).toBe('src/a.ts');
    expect(input.mode).toBe(7);
    expect(input.content).toMatch(/^\[shortened, was ~\d+ tokens\] const answer/);
    expect(after[2]).toBe(messages[2]);
    expect(fates).toEqual([{ messageId: messages[0]?.id, fate: 'previewed' }]);
  });

  it('recognizes what it shortened by its mark, not by its text', async () => {
    const stage = previewArgs({ mode: 'compaction', protectPercent: 0, argThreshold: 5 });
    const messages = [...round({ input: { content: `[shortened, was ~9 tokens] ${big}` } }), ...rounds(1)];
    const once = await reduceWith(stage, messages);
    expect(once.fates).toHaveLength(1);
    const twice = await reduceWith(stage, once.messages);
    expect(twice.messages).toBe(once.messages);
  });

  it('runs early in the mode `iteration` alone', () => {
    const early = (mode: 'iteration' | 'compaction') =>
      previewArgs({ mode }).isDueEarly?.(viewOf(rounds(2)), budgetOf());
    expect([early('iteration'), early('compaction')]).toEqual([true, false]);
  });
});
