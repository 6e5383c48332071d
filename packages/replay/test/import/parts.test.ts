import { expect, it } from 'vitest';
import { importConversation } from '../../src/index.js';

const png = { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } };
const linked = { type: 'file', mediaType: 'image/*', source: { type: 'url', url: 'https://x/a.png' } };

const call = { type: 'tool_use', id: 'c', name: 'look', input: {} };
const anthropic = (part: object) => [
  { role: 'assistant', content: [call] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'seen' }, part] },
];
const chat = (part: object) => [
  { role: 'user', content: [part] },
  { role: 'system', content: 'Be brief.' },
];
const responses = (part: object) => [{ type: 'message', role: 'user', content: [part] }];
const model = (part: object) => [
  { role: 'user', content: [part] },
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} }] },
];
const ui = (part: object) => [{ role: 'user', parts: [part] }];
const pi = (part: object) => [
  { type: 'message', id: 'e', parentId: null, message: { role: 'user', content: [part] } },
];

it.each<[string, readonly object[], object]>([
  [
    'Anthropic’s image',
    anthropic({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }),
    png,
  ],
  [
    'Anthropic’s address',
    anthropic({ type: 'image', source: { type: 'url', url: 'https://x/a.png' } }),
    linked,
  ],
  [
    'Anthropic’s document',
    anthropic({ type: 'document', source: { type: 'url', url: 'https://x/a' } }),
    { type: 'file', mediaType: 'application/pdf', source: { type: 'url', url: 'https://x/a' } },
  ],
  ['a picture in a chat', chat({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }), png],
  ['an input image', responses({ type: 'input_image', image_url: 'https://x/a.png' }), linked],
  ['a refusal', responses({ type: 'refusal', refusal: 'No.' }), { type: 'text', text: 'No.' }],
  ['an image of the AI SDK', model({ type: 'image', image: 'AAAA', mediaType: 'image/png' }), png],
  ['a file of the AI SDK', model({ type: 'file', data: 'https://x/a.png', mediaType: 'image/*' }), linked],
  ['a file of a page', ui({ type: 'file', url: 'data:image/png;base64,AAAA', mediaType: 'image/png' }), png],
  ['an image of pi', pi({ type: 'image', data: 'AAAA', mimeType: 'image/png' }), png],
  [
    'a part that nobody knows',
    pi({ type: 'video', at: 1 }),
    { type: 'text', text: '{"type":"video","at":1}' },
  ],
  [
    'a part without what its type asks for',
    pi({ type: 'image' }),
    { type: 'text', text: '{"type":"image"}' },
  ],
])('reads %s', (_, entries, block) => {
  const { messages } = importConversation(entries.map((entry) => JSON.stringify(entry)).join('\n'));
  expect(messages.filter(({ role }) => role === 'user').flatMap(({ content }) => content)).toEqual([block]);
});

it('reads what the provider ran itself as halves of one call, and a custom call as a call', () => {
  const search = [
    { role: 'user', content: 'Search' },
    {
      role: 'assistant',
      content: [
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } },
        { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
        call,
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'seen' }] },
  ];
  const [, asked] = importConversation(JSON.stringify(search)).messages;
  expect(asked?.content).toMatchObject([
    { type: 'opaque', callId: 's1', half: 'call' },
    { type: 'opaque', callId: 's1', half: 'result' },
    { type: 'tool_use', id: 'c' },
  ]);
  const custom = [
    { role: 'user', content: 'Run it' },
    { role: 'assistant', tool_calls: [{ id: 'r', type: 'custom', custom: { name: 'run', input: 'ls' } }] },
    { role: 'tool', tool_call_id: 'r', content: 'a.ts' },
  ];
  const read = importConversation(JSON.stringify(custom));
  expect(read.unread).toEqual({});
  expect(read.messages[1]?.content).toEqual([{ type: 'tool_use', id: 'r', name: 'run', input: 'ls' }]);
});
