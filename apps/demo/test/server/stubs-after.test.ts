import { assistantMessage, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { stubsAfter } from '../../src/backend/inspect.js';

describe('stubsAfter', () => {
  const call = { type: 'tool_use', id: 'c', name: 'grep', input: { pattern: 'x' } } as const;
  const context = [
    userMessage('Untouched', { id: 'u' }),
    assistantMessage([call], { id: 'a' }),
    toolResultMessage(call, `[grep → ${'9'.repeat(5_000)} lines]`, { id: 'r' }),
  ];
  const entry = (messageId: string) => ({ messageId, fate: 'masked', reducer: 's' }) as const;

  it('words what was altered and stayed, in bounds, and leaves out what is gone or as it was', () => {
    const stubs = stubsAfter([entry('a'), entry('r'), entry('gone')], context);
    expect(Object.keys(stubs)).toEqual(['a', 'r']);
    expect(stubs.a).toBe('grep {"pattern":"x"}');
    expect(stubs.r).toMatch(/^\[grep → 999/);
    expect(stubs.r?.length).toBeLessThanOrEqual(1_000);
  });
});
