import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  assistantMessage,
  type ContentBlock,
  InvalidInputError,
  type Message,
  messageSchema,
  systemMessage,
  textOf,
  toolResultMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
} from '../../src/index.js';
import { parseWith } from '../../src/internal.js';
import { toolResultBlock } from '../../src/messages.js';
import { errorOf } from '../error-of.js';

const call = { type: 'tool_use', id: 'call-1', name: 'read_file', input: { path: 'a.txt' } } as const;

describe('message constructors', () => {
  test.each([
    ['user', userMessage],
    ['assistant', assistantMessage],
    ['system', systemMessage],
  ] as const)('%s: a string becomes one text block', (role, create) => {
    const message = create('Hello');
    expect(message).toMatchObject({ role, content: [{ type: 'text', text: 'Hello' }] });
    expect(Object.keys(message).sort()).toEqual(['content', 'createdAt', 'id', 'role']);
    expectTypeOf(message).toEqualTypeOf<Message>();
  });

  test('blocks stay the blocks that were given', () => {
    const blocks: ContentBlock[] = [{ type: 'text', text: 'Reading.' }, call];
    expect(assistantMessage(blocks).content).toBe(blocks);
  });

  test('ids differ, and times are ISO 8601 in UTC', () => {
    const [first, second] = [userMessage('a'), userMessage('a')];
    expect(first.id).not.toBe(second.id);
    expect(new Date(first.createdAt).toISOString()).toBe(first.createdAt);
  });

  test('options are taken over, and nothing else is added', () => {
    const options = {
      id: 'm1',
      createdAt: '2026-01-01T00:00:00.000Z',
      kind: 'summary',
      metadata: { from: 'test' },
    } as const;
    expect(userMessage('a', options)).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'a' }],
      ...options,
    });
  });

  test('a tool result answers its call', () => {
    expect(toolResultMessage(call, 'text', { id: 'm2' })).toMatchObject({
      id: 'm2',
      role: 'tool',
      content: [
        {
          type: 'tool_result',
          toolUseId: 'call-1',
          toolName: 'read_file',
          output: [{ type: 'text', text: 'text' }],
          isError: false,
        },
      ],
    });
    expect(toolResultsOf(toolResultMessage(call, [], { isError: true }))).toEqual([
      toolResultBlock(call, [], true),
    ]);
    expect(toolResultMessage(call, 'x', { isError: true })).not.toHaveProperty('isError');
  });
});

describe('reading messages', () => {
  const mixed = assistantMessage([
    { type: 'thinking', thinking: 'hidden' },
    { type: 'text', text: 'one' },
    call,
    { type: 'text', text: '' },
    { type: 'file', mediaType: 'image/png', source: { type: 'url', url: 'https://example.net/a.png' } },
    { type: 'opaque', provider: 'acme', data: 'two' },
  ]);

  test('textOf joins what an assistant wrote by nothing, as it was streamed', () => {
    const blocks = ['- ', 'Anthropic has launched', ' it.'].map((text) => ({ type: 'text', text }) as const);
    expect(textOf(assistantMessage(blocks))).toBe('- Anthropic has launched it.');
    expect(textOf(userMessage(blocks))).toBe('- \nAnthropic has launched\n it.');
  });

  test('textOf joins text by line breaks and leaves thinking, calls, files and opaque items out', () => {
    expect(textOf(mixed)).toBe('one');
    expect(textOf(mixed.content)).toBe('one\n');
    expect(textOf([])).toBe('');
  });

  test('textOf takes the text of tool outputs', () => {
    const result = toolResultMessage(call, [
      { type: 'text', text: 'first' },
      { type: 'file', mediaType: 'text/plain', source: { type: 'workspace', path: 'a.txt' } },
      { type: 'text', text: 'second' },
    ]);
    expect(textOf(result)).toBe('first\nsecond');
  });

  test('toolUsesOf and toolResultsOf pick their blocks', () => {
    expect(toolUsesOf(mixed)).toEqual([call]);
    expect(toolResultsOf(mixed)).toEqual([]);
    expect(toolUsesOf(toolResultMessage(call, 'x'))).toEqual([]);
  });
});

test('a message of neither text nor blocks is refused', () => {
  for (const content of [undefined, null, { content: 'Hi' }, 5]) {
    expect(() => userMessage(content as unknown as string)).toThrow(
      'Invalid user message: content: must be a string or a list of blocks.',
    );
  }
});

describe('messageSchema', () => {
  const message = userMessage('Hello', { id: 'm1', kind: 'synthetic', metadata: { n: 1 } });

  test('takes what the constructors make, through JSON and back', () => {
    for (const each of [message, toolResultMessage(call, 'x'), assistantMessage([call])]) {
      expect(messageSchema.parse(JSON.parse(JSON.stringify(each)))).toEqual(each);
    }
  });

  test('keeps fields that it does not know, at every level', () => {
    const future = {
      ...message,
      pinned: true,
      content: [{ type: 'text', text: 'a', citations: [{ url: 'u' }] }],
    };
    expect(messageSchema.parse(future)).toEqual(future);
  });

  test.each([
    [{ id: '' }, 'id'],
    [{ role: 'robot' }, 'role'],
    [{ kind: 'note' }, 'kind'],
    [{ createdAt: 5 }, 'createdAt'],
    [{ metadata: [] }, 'metadata'],
    [{ content: 'Hello' }, 'content'],
    [{ content: [{ type: 'text', text: 'a' }, { type: 'text' }] }, 'content[1].text'],
    [{ content: [{ type: 'video' }] }, 'content[0].type'],
  ])('refuses %j at %s', (change, path) => {
    const error = errorOf(() => parseWith(messageSchema, { ...message, ...change }, 'Message'));
    expect(InvalidInputError.isInstance(error) && error.issues.map((issue) => issue.path)).toEqual([path]);
  });
});
