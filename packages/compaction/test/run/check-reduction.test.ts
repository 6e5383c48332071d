import { assistantMessage, type Message, type ToolUseBlock, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor, dropOldest } from '../../src/index.js';
import type { Stage } from '../../src/stage.js';

const call: ToolUseBlock = { type: 'tool_use', id: 'c', name: 'look', input: {} };
const text = 'word '.repeat(2_000);
const messages = [
  userMessage('Build it.'),
  assistantMessage([call]),
  toolResultMessage(call, 'ok'),
  userMessage(text, { kind: 'synthetic' }),
  assistantMessage(text),
  userMessage('Go on.'),
];
const [first, use, result, note, answer, latest] = messages as [
  Message,
  Message,
  Message,
  Message,
  Message,
  Message,
];

const reducing = (after: readonly Message[], fates: Awaited<ReturnType<Stage['reduce']>>['fates']) => {
  const stage: Stage = { name: 'mine', cost: 'free', reduce: async () => ({ messages: after, fates }) };
  return createCompactor({ stages: [stage, dropOldest()] }).compact(messages);
};

describe('a reduction', () => {
  it('is not used when the first request goes and nothing stands for it', async () => {
    const after = [use, result, note, latest];
    const gone = [
      { messageId: answer.id, fate: 'dropped' as const },
      { messageId: first.id, fate: 'dropped' as const },
    ];
    const refused = await reducing(after, gone);
    expect(refused.steps[0]?.note).toContain('first user request');
    expect(refused.messages).toContain(first);
    const summarized = await reducing(
      after,
      gone.map(({ messageId }) => ({ messageId, fate: 'summarized' as const })),
    );
    expect(summarized).toMatchObject({ status: 'applied', messages: after });
  });

  it('is not used when it puts a message between a call and its result', async () => {
    const between = userMessage('by the way', { kind: 'synthetic' });
    const gone = [{ messageId: answer.id, fate: 'dropped' as const }];
    const refused = await reducing([first, use, between, result, note, latest], gone);
    expect(refused.steps[0]?.note).toContain('between a tool call and its result');
    const beside = await reducing([first, between, use, result, note, latest], gone);
    expect(beside.status).toBe('applied');
  });
});
