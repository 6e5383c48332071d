import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  contentBlockSchema,
  madeFrom,
  opaquePart,
  originOf,
  type Part,
  parseInput,
  plainJson,
  readOutput,
  readPart,
} from '../../src/messages.js';

const png = { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AQID' } };
const bytes = new Uint8Array([1, 2, 3]);
const page = { type: 'file', mediaType: 'text/html', source: { type: 'url', url: 'https://x/a' } };
const call = { type: 'tool_use', id: 'c', name: 'look', input: { at: 1 } };

it.each<[string, object, object]>([
  [
    'Anthropic’s image',
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AQID' } },
    png,
  ],
  ['OpenAI’s image', { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } }, png],
  ['OpenAI’s input image', { type: 'input_image', image_url: 'data:image/png;base64,AQID' }, png],
  ['a screenshot', { type: 'computer_screenshot', image_url: 'data:image/png;base64,AQID' }, png],
  ['a screenshot of OpenAI Agents', { type: 'computer_screenshot', data: 'data:image/png;base64,AQID' }, png],
  ['an image of OpenAI Agents', { type: 'input_image', image: 'data:image/png;base64,AQID' }, png],
  ['bytes', { type: 'image', image: bytes, mediaType: 'image/png' }, png],
  ['a buffer', { type: 'file', data: bytes.buffer, mediaType: 'image/png' }, png],
  ['tagged bytes', { type: 'file', data: { type: 'data', data: bytes }, mediaType: 'image/png' }, png],
  ['an address', { type: 'file', data: new URL('https://x/a'), mediaType: 'text/html' }, page],
  [
    'the address that was given first',
    {
      type: 'file',
      data: { type: 'url', url: new URL('https://x/b'), originalUrl: 'https://x/a' },
      mediaType: 'text/html',
    },
    page,
  ],
  [
    'a named file',
    { type: 'file', file: { file_data: 'data:image/png;base64,AQID', filename: 'a.png' } },
    { ...png, filename: 'a.png' },
  ],
  [
    'a voice',
    { type: 'input_audio', input_audio: { data: 'AQID', format: 'wav' } },
    { ...png, mediaType: 'audio/wav' },
  ],
  ['a text', { type: 'output_text', text: 'Hi' }, { type: 'text', text: 'Hi' }],
  ['a refusal', { type: 'refusal', refusal: 'No.' }, { type: 'text', text: 'No.' }],
  [
    'signed thoughts',
    { type: 'thinking', thinking: 'Hm', signature: 's' },
    { type: 'thinking', thinking: 'Hm', signature: 's' },
  ],
  ['reasoning', { type: 'reasoning', reasoning: 'Hm' }, { type: 'thinking', thinking: 'Hm' }],
  ['Anthropic’s call', { type: 'tool_use', id: 'c', name: 'look', input: { at: 1 } }, call],
  ['the AI SDK’s call', { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{"at":1}' }, call],
  ['pi’s call', { type: 'toolCall', id: 'c', name: 'look', arguments: { at: 1 } }, call],
])('reads %s', (_, part, block) => {
  expect(readPart(part)).toEqual(block);
});

it.each([
  { type: 'image' },
  { type: 'image', source: { type: 'file', file_id: 'f' } },
  { type: 'text', text: 1 },
  { type: 'tool_use', id: 1, name: 'look' },
  { type: 'constructor' },
  { text: 'untyped' },
  'a text',
  null,
])('leaves %o to whoever asks', (part) => {
  expect(readPart(part)).toBeUndefined();
});

it.each<[Part, 'call' | 'result' | undefined]>([
  [{ type: 'server_tool_use', id: 's' }, 'call'],
  [{ type: 'mcp_tool_use', id: 's' }, 'call'],
  [{ type: 'web_search_tool_result', tool_use_id: 's' }, 'result'],
  [{ type: 'server_tool_call', id: 's' }, 'call'],
  [{ type: 'server_tool_call_result', toolCallId: 's' }, 'result'],
  [{ type: 'tool-call', toolCallId: 's' }, 'call'],
  [{ type: 'tool-result', toolCallId: 's' }, 'result'],
  [{ type: 'hosted_tool_call', id: 's' }, undefined],
  [{ type: 'search_result', id: 's' }, undefined],
])('knows which half of a provider’s call %o is', (part, half) => {
  const pairing = half === undefined ? {} : { callId: 's', half };
  expect(opaquePart(part, 'p')).toEqual({ type: 'opaque', provider: 'p', data: part, ...pairing });
});

it.each([
  ['{"a":1}', { a: 1 }],
  [' ', {}],
  ['{"a":', '{"a":'],
  [undefined, {}],
  [{ a: 1 }, { a: 1 }],
])('parses the input %o', (input, value) => {
  expect(parseInput(input)).toEqual(value);
});

it('makes JSON of any part, and sound blocks of those that it reads', () => {
  const type = fc.constantFrom(
    'text',
    'thinking',
    'tool_use',
    'tool-call',
    'image',
    'file',
    'input_audio',
    'media',
    'x_tool_use',
  );
  const place = fc.constantFrom(
    'text',
    'thinking',
    'id',
    'name',
    'input',
    'source',
    'data',
    'url',
    'file',
    'mediaType',
    'toolCallId',
    'toolName',
    'tool_use_id',
  );
  const part = fc.tuple(
    type,
    fc.dictionary(place, fc.anything({ maxDepth: 2, withTypedArray: true, withDate: true })),
  );
  fc.assert(
    fc.property(part, ([type, fields]) => {
      const read = readPart({ ...fields, type });
      if (read !== undefined) expect(contentBlockSchema.safeParse(read).error).toBeUndefined();
      const kept = opaquePart({ ...fields, type }, 'p');
      expect(JSON.parse(JSON.stringify(kept))).toEqual(kept);
    }),
  );
});

it('writes what JSON has no word for as base64, text or null', () => {
  const value = {
    at: new Date(0),
    bytes,
    buffer: bytes.buffer,
    far: Number.POSITIVE_INFINITY,
    gone: undefined,
    map: new Map([['a', new Set([1])]]),
    never: new Date(Number.NaN),
    url: new URL('https://x/a'),
  };
  expect(plainJson(value)).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    bytes: 'AQID',
    buffer: 'AQID',
    far: null,
    map: [['a', [1]]],
    never: null,
    url: 'https://x/a',
  });
});

it('reads what a tool answered as a text, a file or the JSON of anything else', () => {
  expect(
    ['Said', { type: 'text', text: 'Written' }, { type: 'row', at: new Date(0) }].map(readOutput),
  ).toEqual([
    { type: 'text', text: 'Said' },
    { type: 'text', text: 'Written' },
    { type: 'text', text: '{"type":"row","at":"1970-01-01T00:00:00.000Z"}' },
  ]);
  expect(readOutput({ type: 'input_image', image_url: 'data:image/png;base64,AQID' })).toMatchObject(png);
});

it('knows what a block was made from, and that a copy was not', () => {
  const part = { type: 'text', text: 'Hi' };
  const block = madeFrom({ type: 'text', text: 'Hi' }, part);
  expect(originOf(block)).toBe(part);
  expect(originOf({ ...block })).toBeUndefined();
});
