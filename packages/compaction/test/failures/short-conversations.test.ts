import { assistantMessage, type Message, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

const call = { type: 'tool_use', id: 'c1', name: 'read_file', input: { path: 'src/a.ts' } } as const;
const conversations: Readonly<Record<string, readonly Message[]>> = {
  'a greeting': [userMessage('Hello'), assistantMessage('Hi! How can I help?')],
  'a question': [userMessage('Hello'), assistantMessage('Hi!'), userMessage('What is 2 + 2?')],
  'a look at a file': [
    userMessage('Read src/a.ts'),
    assistantMessage([call]),
    toolResultMessage(call, 'export const a = 1;'),
    assistantMessage('It exports a.'),
    userMessage('Thanks'),
  ],
  'three turns': ['Hello', 'Another joke, please', 'And one more'].flatMap((request) => [
    userMessage(request),
    assistantMessage('There are ten kinds of people: those who know binary and those who do not.'),
  ]),
};
const cases = Object.keys(conversations).flatMap((name) =>
  (['manual', 'request_too_large'] as const).map((reason) => [name, reason] as const),
);

describe('a conversation of a few short messages', () => {
  it.each(cases)('stays as it is: %s, %s', async (name, reason) => {
    const messages = conversations[name] as readonly Message[];
    const before = JSON.stringify(messages);
    const model = modelOf(() => GOOD_SUMMARY);
    for (const compactor of [createCompactor(), createCompactor({ model })]) {
      const outcome = await compactor.compact(messages, { reason, system: 'You help.' });
      expect(outcome).toMatchObject({ status: 'ineffective', steps: [], manifest: [] });
      expect(outcome.message).toMatch(/^the conversation has only \d+ tokens/);
      expect(outcome.messages).toBe(messages);
    }
    expect(JSON.stringify(messages)).toBe(before);
    expect(model.requests).toEqual([]);
  });

  it('is reduced where the window is as small', async () => {
    const messages = conversations['three turns'] as readonly Message[];
    const outcome = await createCompactor({ contextWindow: 80 }).compact(messages, {
      reason: 'request_too_large',
    });
    expect(outcome.status).toBe('applied');
    expect(outcome.tokensAfter).toBeLessThanOrEqual(80);
  });
});
