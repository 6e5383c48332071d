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
  return createCompactor({ contextWindow: 4_000, stages: [stage, dropOldest()] }).compact(messages);
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

  it.each([
    ['a hole', undefined],
    ['no id', { ...userMessage('x'), id: undefined }],
    ['a text as content', { ...userMessage('x'), content: 'x' }],
    ['an unknown role', { ...userMessage('x'), role: 'robot' }],
    ['a date as its only lack', { ...userMessage('x'), createdAt: undefined }],
    ['an id that another new message has', { ...userMessage('x'), id: 'new' }],
  ])('is not used when a new message has %s, and the next stage runs', async (_, message) => {
    const added = [{ ...userMessage('y'), id: 'new' }, message] as Message[];
    const gone = [{ messageId: answer.id, fate: 'dropped' as const }];
    const refused = await reducing([first, ...added, use, result, note, latest], gone);
    expect(refused.status).toBe('applied');
    expect(refused.message).toMatch(/^reduced by drop_oldest; mine: /);
  });

  it('is not used when an entry of its fates is null, or a message gets another role', async () => {
    const gone = [{ messageId: answer.id, fate: 'dropped' as const }];
    const refused = await reducing([first, use, result, note, latest], [null as never, ...gone]);
    expect(refused.message).toMatch(/^reduced by drop_oldest; mine: /);
    const altered = { ...answer, role: 'user' as const };
    const fates = [{ messageId: answer.id, fate: 'truncated' as const }];
    const reversed = await reducing([first, use, result, note, altered, latest], fates);
    expect(reversed.steps[0]?.note).toContain('the role of message ');
  });

  it('of the same messages in a new list changes nothing', async () => {
    const same: Stage = {
      name: 'same',
      cost: 'free',
      isDueEarly: () => true,
      reduce: async (view) => ({ messages: [...view.messages], fates: [] }),
    };
    const early = await createCompactor({ stages: [same] }).compact(messages, { reason: 'proactive_budget' });
    expect(early.status).toBe('skipped');
    expect(early.messages).toBe(messages);
  });
});
