import { assistantMessage, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { ReplayModel, UnexpectedModelCallError } from '../src/index.js';

describe('ReplayModel', () => {
  it('answers with the recorded assistant messages, ids and all, and then no more', async () => {
    const call = { type: 'tool_use', id: 'toolu_9', name: 'read_file', input: { path: 'a' } } as const;
    const signed = { type: 'thinking', thinking: 'Hm', signature: 'sig' } as const;
    const recorded = [
      userMessage('Read a'),
      assistantMessage([signed, call]),
      toolResultMessage(call, 'text of a'),
      assistantMessage('It says: text of a'),
    ];
    const model = new ReplayModel(recorded);
    expect(model.id).toBe('replay');
    const request = { messages: [userMessage('Read a')], tools: [] };
    expect(await model.generate(request)).toMatchObject({
      content: [signed, call],
      finishReason: 'tool-calls',
    });
    expect(await model.generate(request)).toMatchObject({
      content: recorded[3]?.content,
      finishReason: 'stop',
    });
    model.assertComplete();
    await expect(model.generate(request)).rejects.toThrow(UnexpectedModelCallError);
  });
});
