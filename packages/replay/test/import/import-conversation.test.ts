import { gzipSync } from 'node:zlib';
import { textOf, toolResultsOf, toolUsesOf } from '@x/core';
import { describe, expect, it } from 'vitest';
import { formats } from '../../src/import/import-conversation.js';
import { importConversation, ReplayError } from '../../src/index.js';
import { logs } from './logs.js';

/** What some of these logs hold beside the conversation. */
const leftOut: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'claude-code': { 'message of an abandoned branch': 1, 'message of a subagent': 1 },
  pi: { 'message of an abandoned branch': 1 },
};

describe.each(Object.entries(logs))('a log of %s', (format, source) => {
  const conversation = importConversation(source);

  it('is recognized', () => {
    expect(conversation.format).toBe(format);
    expect(conversation.unread).toEqual(leftOut[format] ?? {});
  });

  it('holds what was said, with every result behind its call', () => {
    expect(conversation.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    const [asked, called, result, answer] = conversation.messages;
    expect(asked && textOf(asked)).toBe('Read src/app.ts');
    const thought = { type: 'thinking', thinking: 'hm' };
    // A stream of Gemini CLI has no thoughts. There the model says it.
    const first = format === 'gemini-stream' ? { type: 'text', text: 'hm' } : thought;
    expect(called?.content[0]).toMatchObject(first);
    expect(called && toolUsesOf(called)).toMatchObject([
      { id: 'c-1', name: 'Read', input: { path: 'src/app.ts' } },
    ]);
    expect(result && textOf(result)).toBe('no such file');
    expect(answer && textOf(answer)).toBe('It is missing.');
  });

  it('says that the call failed, where the format can say so', () => {
    const silent = ['openai-chat', 'openai-responses'];
    const [result] = conversation.messages.flatMap((message) => toolResultsOf(message));
    expect(result?.isError).toBe(!silent.includes(format));
  });

  it('survives a torn end', () => {
    if (!source.includes('\n')) {
      expect(() => importConversation(source.slice(0, -20))).toThrow(ReplayError);
      return;
    }
    const torn = importConversation(source.slice(0, -20));
    expect(torn.messages.length).toBe(3);
    expect(torn.unread).toMatchObject({ 'line that is not valid JSON': 1 });
  });
});

it('tests every format', () => {
  expect(Object.keys(logs).toSorted()).toEqual(formats.map(({ format }) => format).toSorted());
});

it.each(['claude-code', 'codex', 'pi'] as const)(
  'reads what %s was billed, and which model answered',
  (format) => {
    const { usage, model, id } = importConversation(logs[format]);
    expect(model).toBe('some-model');
    expect(id).toBe('s-1');
    expect(usage[0]).toMatchObject({ index: 1, cachedInputTokens: 90, outputTokens: 5 });
  },
);

it.each(['codex', 'openai-chat'] as const)('keeps the system prompt of %s apart', (format) => {
  expect(importConversation(logs[format]).system).toBe('You fix bugs.');
});

it('reads a response whose input is a text', () => {
  const answer = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
  const source = JSON.stringify({ model: 'gpt-5', input: 'Fix the login.', output: [answer] });
  const { format, messages } = importConversation(source);
  expect(format).toBe('openai-responses');
  expect(messages.map((message) => textOf(message))).toEqual(['Fix the login.', 'Done.']);
});

describe('rubbish', () => {
  it.each([
    '',
    '[]',
    '{}',
    'null',
    'not JSON',
    '{"messages":"none"}',
    '[1,2,3]',
    '{"type":"summary"}\n{"a":1}',
  ])('is refused with a list of what can be read: %j', (source) => {
    expect(() => importConversation(source)).toThrow(/Known formats:[\s\S]*claude-code/);
  });

  it('is refused when the format is named and nothing is there', () => {
    expect(() => importConversation('{"a":1}', { format: 'codex' })).toThrow(/has no messages/);
    expect(() => importConversation('{"a":1}', { format: 'nonsense' })).toThrow(
      'The format "nonsense" is unknown.',
    );
  });

  it('does not keep a log with odd entries from being read', () => {
    const { messages, unread } = importConversation(
      `${logs.pi}\n{"type":"message","id":"e-5","parentId":"e-4","message":7}`,
    );
    expect(messages).toHaveLength(4);
    expect(unread).toMatchObject({ 'message of an unknown shape': 1 });
  });
});

it.each([
  ['', 'The log is empty.'],
  [' \n\n', 'The log is empty.'],
  [gzipSync('{"role":"user"}').toString('utf8'), 'The log is compressed'],
  ['{"a":1}', 'The log has no entry of a known format.'],
])('says why %j is not a log', (source, words) => {
  expect(() => importConversation(source)).toThrow(words);
  // The first line must make sense without the list.
  expect(() => importConversation(source)).toThrow(/^[^\n:]+\nKnown formats:\n/);
});
