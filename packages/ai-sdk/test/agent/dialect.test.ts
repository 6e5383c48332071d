import type { Message } from '@x/core';
import { dialectSuite } from '@x/test-support/suites';
import type { ModelMessage } from 'ai';
import { expect, it } from 'vitest';
import { fingerprints, fromMessage, type SdkMessage, toMessage } from '../../src/agent/sdk-message.js';

const open = () => ({
  read(sources: readonly ModelMessage[]) {
    const ids = fingerprints(sources);
    return sources.map((source, at) => toMessage(source, ids[at] ?? ''));
  },
  write(messages: readonly Message[], sources: readonly ModelMessage[]) {
    const ids = fingerprints(sources);
    const originals = new Map(ids.map((id, at) => [id, sources[at] as ModelMessage]));
    return messages.map((message) => fromMessage(message, originals.get(message.id)) as ModelMessage);
  },
});

const call = (id: string) =>
  ({ type: 'tool-call', toolCallId: id, toolName: 'read', input: { path: `${id}.ts` } }) as const;
const result = (id: string, output: object) =>
  ({ type: 'tool-result', toolCallId: id, toolName: 'read', output }) as never;

dialectSuite<ModelMessage>({
  name: 'the AI SDK',
  open,
  conversations: {
    'words, thoughts and files': () => [
      {
        role: 'system',
        content: 'Rules',
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      },
      {
        role: 'user',
        content: [
          { type: 'image', image: new Uint8Array([1, 2, 3]) },
          {
            type: 'file',
            data: new URL('https://example.com/a.pdf'),
            mediaType: 'application/pdf',
            filename: 'a.pdf',
          },
          { type: 'text', text: 'Look' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm', providerOptions: { anthropic: { signature: 'abc' } } },
          {
            type: 'text',
            text: 'First, ',
            providerOptions: { openai: { itemId: 'msg_1', phase: 'commentary' } },
          },
          {
            type: 'text',
            text: 'then.',
            providerOptions: { openai: { itemId: 'msg_2', phase: 'final_answer' } },
          },
          { type: 'file', data: 'AAAA', mediaType: 'image/png' },
        ],
      },
      { role: 'user', content: 'Thanks' },
    ],
    'calls at once, with results of every form': () => [
      { role: 'user', content: 'Read all' },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Reading.' }, ...['a', 'b', 'c', 'd', 'e'].map(call)],
      },
      {
        role: 'tool',
        content: [result('a', { type: 'text', value: 'plain' }), result('b', { type: 'json', value: [1] })],
      },
      {
        role: 'tool',
        content: [
          result('c', { type: 'error-text', value: 'broken' }),
          result('d', { type: 'execution-denied', reason: 'no' }),
          result('e', {
            type: 'content',
            value: [
              { type: 'text', text: 'seen' },
              { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
            ],
          }),
        ],
      },
      { role: 'assistant', content: 'Done.' },
    ],
    'tools that the provider runs, with a result that comes later': () => [
      { role: 'user', content: 'Search' },
      {
        role: 'assistant',
        content: [
          { ...call('s1'), providerExecuted: true },
          result('s1', { type: 'json', value: [{ url: 'https://example.com' }] }),
          { ...call('s2'), providerExecuted: true },
          call('own'),
        ],
      },
      { role: 'tool', content: [result('own', { type: 'text', value: 'mine' })] },
      {
        role: 'assistant',
        content: [result('s2', { type: 'json', value: [2] }), { type: 'text', text: 'Found.' }],
      },
      { role: 'user', content: 'And?' },
    ],
    'an approval': () => [
      { role: 'user', content: 'Delete' },
      {
        role: 'assistant',
        content: [call('x'), { type: 'tool-approval-request', approvalId: 'ok', toolCallId: 'x' }],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-approval-response', approvalId: 'ok', approved: true },
          result('x', { type: 'text', value: 'gone' }),
        ],
      },
    ],
  },
});

it('keeps of an altered message all that was not altered', () => {
  const cached = { acme: { cacheControl: 'short' } };
  const sources: SdkMessage[] = [
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'a',
          toolName: 'look',
          output: {
            type: 'content',
            providerOptions: cached,
            value: [
              { type: 'text', text: 'long', providerOptions: cached },
              { type: 'file-id', fileId: { acme: 'f1' }, providerOptions: cached },
              {
                type: 'file',
                mediaType: 'image/png',
                data: { type: 'reference', reference: { acme: 'f2' } },
              },
            ],
          },
        },
        {
          type: 'tool-result',
          toolCallId: 'b',
          toolName: 'look',
          output: { type: 'text', value: 'long', providerOptions: cached },
        },
      ] as never,
    },
    {
      role: 'user',
      content: [{ type: 'text', text: 'long', mark: 1 }] as never,
      providerOptions: cached,
    },
  ];
  const shortened = sources.map((source, at) => {
    const message = toMessage(source, String(at));
    const short = <Block extends { type: string }>(block: Block): Block =>
      'text' in block && block.text === 'long' ? { ...block, text: 'short' } : block;
    const content = message.content.map((block) =>
      block.type === 'tool_result' ? { ...block, output: block.output.map(short) } : short(block),
    );
    return fromMessage({ ...message, content }, source);
  });
  expect(shortened).toEqual(JSON.parse(JSON.stringify(sources).replaceAll('"long"', '"short"')));
});

it('reads the signature of thoughts, which are kept or removed as a whole', () => {
  const providerOptions = { anthropic: { signature: 'abc' } };
  const source: SdkMessage = {
    role: 'assistant',
    content: [{ type: 'reasoning', text: 'Hm', providerOptions }] as never,
  };
  expect(toMessage(source, '0').content).toEqual([
    { type: 'thinking', thinking: 'Hm', signature: 'abc', providerMetadata: providerOptions },
  ]);
});
