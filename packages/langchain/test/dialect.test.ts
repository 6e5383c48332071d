import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages';
import { pairingOf } from '@x/core/messages';
import { dialectSuite } from '@x/test-support/suites';
import { expect, it } from 'vitest';
import { fromMessage } from '../src/from-message.js';
import { toMessage } from '../src/to-message.js';

const call = (id: string) => ({ name: 'read', args: { path: `${id}.ts` }, id, type: 'tool_call' as const });

dialectSuite<BaseMessage>({
  name: 'LangChain',
  open: () => ({
    read: (sources) => sources.map(toMessage),
    write(messages, sources) {
      const originals = new Map(sources.map((source) => [source.id, source]));
      return messages.map((message) => fromMessage(message, originals.get(message.id), undefined));
    },
  }),
  conversations: {
    'words, thoughts and files': () => [
      new SystemMessage({ id: '0', content: 'Rules' }),
      new HumanMessage({
        id: '1',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          { type: 'text', text: 'Look' },
        ],
      }),
      new AIMessage({
        id: '2',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 'abc' },
          { type: 'text', text: 'Seen.' },
          { type: 'text', text: 'Really.' },
        ],
      }),
      new HumanMessage({ id: '3', content: 'Thanks', name: 'alice' }),
    ],
    'calls at once': () => [
      new HumanMessage({ id: '0', content: 'Read both' }),
      new AIMessage({
        id: '1',
        content: [
          { type: 'text', text: 'Reading.' },
          { type: 'tool_use', id: 'a', name: 'read', input: { path: 'a.ts' } },
          { type: 'tool_use', id: 'b', name: 'read', input: { path: 'b.ts' } },
        ],
        tool_calls: [call('a'), call('b')],
        usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      } as never),
      new ToolMessage({ id: '2', tool_call_id: 'a', name: 'read', content: 'plain', artifact: { raw: 1 } }),
      new ToolMessage({ id: '3', tool_call_id: 'b', name: 'read', content: 'broken', status: 'error' }),
      new AIMessage({ id: '4', content: 'Done.' }),
    ],
    'tools that the provider runs': () => [
      new HumanMessage({ id: '0', content: 'Search' }),
      new AIMessage({
        id: '1',
        content: [
          { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 's1',
            content: [{ type: 'web_search_result', url: 'u' }],
          },
          { type: 'server_tool_use', id: 's2', name: 'web_search', input: { query: 'r' } },
        ],
      }),
      new AIMessage({
        id: '2',
        content: [
          { type: 'web_search_tool_result', tool_use_id: 's2', content: [] },
          { type: 'text', text: 'Found.' },
        ],
      }),
      new HumanMessage({ id: '3', content: 'And?' }),
    ],
  },
});

it('keeps a call of a tool that the provider runs and its result together, in either of LangChain’s forms', () => {
  const forms: readonly (readonly [object, object])[] = [
    [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    ],
    [
      { type: 'server_tool_call', id: 's', name: 'web_search', args: {} },
      { type: 'server_tool_call_result', toolCallId: 's', status: 'success', output: {} },
    ],
  ];
  for (const [asked, answered] of forms) {
    const messages = [
      new AIMessage({ id: '0', content: [asked as never] }),
      new AIMessage({ id: '1', content: [answered as never] }),
    ].map(toMessage);
    expect(pairingOf(messages).groups).toEqual([{ start: 0, end: 2, open: false }]);
  }
});

it.each([
  [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }, 'audio/wav'],
  [
    { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
    'application/pdf',
  ],
  [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }, 'image/*'],
  [{ type: 'image', source_type: 'base64', data: 'AAAA', mime_type: 'image/png' }, 'image/png'],
])('reads %o as a file', (part, mediaType) => {
  const { content } = toMessage(new HumanMessage({ id: '0', content: [part as never] }));
  expect(content).toMatchObject([{ type: 'file', mediaType }]);
});

it('names a file that was altered, and gives every other part back as it was', () => {
  const text = { type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } };
  const image = { type: 'image', source_type: 'base64', data: 'AAAA', mime_type: 'image/png' };
  const source = new HumanMessage({ id: '0', content: [text, image] as never });
  const message = toMessage(source);
  const content = message.content.map((block) => (block.type === 'file' ? { ...block } : block));
  const { content: given } = fromMessage({ ...message, content }, source, undefined);
  expect(given).toEqual([text, { type: 'text', text: '[image/png]' }]);
});

it('keeps of an altered message all that was not altered', () => {
  const text = { type: 'text', text: 'long', cache_control: { type: 'ephemeral' } };
  const fields = {
    content: [text],
    name: 'ann',
    additional_kwargs: { mine: 1 },
    response_metadata: { model: 'm' },
  };
  const sources = [
    new SystemMessage({ id: '0', ...fields }),
    new HumanMessage({ id: '1', ...fields }),
    new AIMessage({
      id: '2',
      ...fields,
      usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      invalid_tool_calls: [{ type: 'invalid_tool_call', id: 'x', name: 'read', args: '{', error: 'cut' }],
    } as never),
    new ToolMessage({
      id: '3',
      ...fields,
      tool_call_id: 'a',
      artifact: { raw: 1 },
      metadata: { at: 1 },
      status: 'success',
    }),
  ];
  for (const source of sources) {
    const message = toMessage(source);
    const short = <Block extends { type: string }>(block: Block): Block => ({ ...block, text: 'short' });
    const content = message.content.map((block) =>
      block.type === 'tool_result' ? { ...block, output: block.output.map(short) } : short(block),
    );
    const written = fromMessage({ ...message, content }, source, undefined);
    expect(written.getType()).toBe(source.getType());
    const plain = (of: BaseMessage) => JSON.parse(JSON.stringify(of.toDict().data)) as unknown;
    expect(plain(written)).toEqual({
      ...(plain(source) as object),
      content: [{ ...text, text: 'short' }],
      response_metadata: { model: 'm' },
    });
  }
});
