import { describe, expect, test } from 'vitest';
import {
  assistantMessage,
  type ContentBlock,
  estimateCounter,
  type FileBlock,
  type OpaqueBlock,
  type TokenCounter,
  toolResultMessage,
  userMessage,
} from '../../src/index.js';
import { countSystem } from '../../src/internal.js';
import {
  countBlock,
  countMessage,
  countMessages,
  countRequest,
  countTool,
  type ToolDefinition,
} from '../../src/messages.js';

/** One token a character; remembers what it was asked for. */
function spy(): TokenCounter & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    name: 'spy',
    asked,
    count: (text) => {
      asked.push(text);
      return text.length;
    },
  };
}

function file(mediaType: string, source: FileBlock['source']): FileBlock {
  return { type: 'file', mediaType, source };
}
const base64 = (bytes: number) => ({ type: 'base64', data: 'A'.repeat((bytes * 4) / 3) }) as const;
const dataUrl = (mediaType: string, bytes: number) =>
  ({ type: 'url', url: `data:${mediaType};base64,${base64(bytes).data}` }) as const;

const picture = `iVBORw0KGgo${'A'.repeat(1_200)}`;

const tool: ToolDefinition = {
  name: 'search',
  description: 'Finds things.',
  inputSchema: { type: 'object', properties: { query: { type: 'string' } } },
};

describe('countBlock', () => {
  test.each<[ContentBlock, number]>([
    [{ type: 'text', text: 'hello' }, 5],
    [{ type: 'thinking', thinking: 'hmm', signature: 'not counted' }, 3],
    [{ type: 'tool_use', id: 'c1', name: 'find', input: { a: 1 } }, 6 + 4 + 7],
    [{ type: 'opaque', provider: 'acme', data: { a: 1 } }, 7],
    [
      {
        type: 'tool_result',
        toolUseId: 'c1',
        toolName: 'find',
        output: [
          { type: 'text', text: 'abc' },
          { type: 'text', text: 'de' },
        ],
        isError: false,
      },
      6 + 3 + 2,
    ],
  ])('%j', (block, tokens) => {
    expect(countBlock(spy(), block)).toBe(tokens);
  });

  test.each<[string, Pick<OpaqueBlock, 'data' | 'tokens'>, number]>([
    ['two pictures', { data: { a: picture, b: `data:image/png;base64,${picture}` } }, 3_215],
    ['a text that contains one', { data: `x ${picture}` }, 1_215],
    ['an encrypted text', { data: { encrypted_content: 'A'.repeat(5_000) } }, 1_024],
    ['a text without spaces', { data: { output: 'a0'.repeat(2_500) } }, 5_013],
    ['one whose tokens are known', { data: picture, tokens: 20 }, 20],
  ])('%s in an item of a provider', (_, item, tokens) => {
    expect(countBlock(spy(), { type: 'opaque', provider: 'acme', ...item })).toBe(tokens);
  });

  test.each([
    ['an image', file('image/png', { type: 'url', url: 'https://example.net/a.png' }), 1_600],
    ['a large image', file('image/jpeg', base64(3_000_000)), 1_600],
    ['a document elsewhere', file('application/pdf', { type: 'workspace', path: 'a.pdf' }), 3_000],
    ['a small document', file('application/pdf', base64(3)), 3_000],
    ['a document of 250 KB', file('application/pdf', base64(249_999)), 9_000],
    ['a document in a data URL', file('application/pdf', dataUrl('application/pdf', 249_999)), 9_000],
    ['a text in a data URL', file('text/csv', dataUrl('text/csv', 35_100)), 10_034],
    ['a recording of 250 KB', file('audio/wav', base64(249_999)), 3_000],
    ['text of 35 000 bytes', file('text/csv', base64(35_100)), 10_029],
  ])('%s', (_, block, tokens) => {
    const counter = spy();
    expect(countBlock(counter, block)).toBe(tokens);
    expect(counter.asked).toEqual([]);
  });
});

describe('countMessage', () => {
  test('is the sum of its blocks and a little', () => {
    const blocks: ContentBlock[] = [
      { type: 'text', text: 'a' },
      { type: 'tool_use', id: 'c1', name: 'find', input: null },
    ];
    const sum = blocks.reduce((total, block) => total + countBlock(spy(), block), 0);
    expect(countMessage(spy(), assistantMessage(blocks)) - sum).toBe(4);
    expect(countMessage(spy(), userMessage([]))).toBe(4);
  });

  test('counts each message once, however often it is asked', () => {
    const counter = spy();
    const messages = [
      userMessage('one'),
      userMessage('two'),
      toolResultMessage({ id: 'c', name: 'n' }, 'three'),
    ];
    const first = countMessages(counter, messages);
    expect(countMessages(counter, [...messages].reverse())).toBe(first);
    expect(countRequest(counter, { messages })).toBe(first);
    expect(counter.asked).toEqual(['one', 'two', 'three']);
  });

  test('counts a message that merely looks the same', () => {
    const counter = spy();
    const message = userMessage('one');
    countMessages(counter, [message, { ...message }]);
    expect(counter.asked).toEqual(['one', 'one']);
  });

  test('keeps counters apart', () => {
    const message = userMessage('twelve chars');
    expect(countMessage(spy(), message)).toBe(16);
    expect(countMessage(estimateCounter, message)).toBe(6);
    expect(countMessage({ name: 'none', count: () => 0 }, message)).toBe(4);
  });
});

describe('countSystem', () => {
  test('frames a system prompt as a message is framed', () => {
    const framed = countMessage(spy(), userMessage('abc'));
    expect(countSystem(spy(), 'abc')).toBe(framed);
    expect(countRequest(spy(), { system: 'abc', messages: [] })).toBe(framed);
  });

  test.each([undefined, ''])('costs nothing without one (%j)', (system) => {
    expect(countSystem(spy(), system)).toBe(0);
  });
});

describe('countTool and countRequest', () => {
  test('a tool counts its name, its description and its JSON Schema, once', () => {
    const counter = spy();
    const tokens = countTool(counter, tool);
    expect(tokens).toBe(6 + 6 + 13 + JSON.stringify(tool.inputSchema).length);
    expect(countTool(counter, tool)).toBe(tokens);
    expect(counter.asked).toEqual(['search', 'Finds things.', JSON.stringify(tool.inputSchema)]);
  });

  test('a request counts system prompt, tools and messages', () => {
    const messages = [userMessage('hello')];
    const alone = countRequest(spy(), { messages });
    expect(countRequest(spy(), { messages, system: 'Be brief.' })).toBe(alone + 4 + 9);
    expect(countRequest(spy(), { messages, system: '' })).toBe(alone);
    expect(countRequest(spy(), { messages, tools: [tool, tool] })).toBe(alone + 2 * countTool(spy(), tool));
    expect(countRequest(spy(), { messages: [] })).toBe(0);
  });
});
