import { describe, expect, test } from 'vitest';
import { type ContentBlock, InvalidInputError } from '../../src/index.js';
import { parseWith } from '../../src/internal.js';
import { contentBlockSchema } from '../../src/messages.js';
import { errorOf } from '../error-of.js';

const providerMetadata = { acme: { cacheControl: { type: 'ephemeral' }, ids: [1, null] } };

const blocks: ContentBlock[] = [
  { type: 'text', text: 'a\u0000b \ud83d' },
  { type: 'text', text: '' },
  { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmF0dXJl' },
  { type: 'thinking', thinking: '' },
  { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'aGk=' }, filename: 'hi.png' },
  { type: 'file', mediaType: 'image/png', source: { type: 'url', url: 'https://example.net/hi.png' } },
  { type: 'file', mediaType: 'text/plain', source: { type: 'workspace', path: 'notes.txt' } },
  {
    type: 'file',
    mediaType: 'application/pdf',
    source: { type: 'provider', provider: 'acme', id: 'file-1' },
  },
  { type: 'tool_use', id: 'c1', name: 'search', input: { query: 'x', deep: [{ a: null }] } },
  { type: 'tool_use', id: 'c2', name: 'stop', input: null },
  {
    type: 'tool_result',
    toolUseId: 'c1',
    toolName: 'search',
    output: [
      { type: 'text', text: 'found', providerMetadata },
      { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: '' } },
    ],
    isError: false,
  },
  { type: 'tool_result', toolUseId: 'c2', toolName: 'stop', output: [], isError: true },
  { type: 'opaque', provider: 'acme', data: { type: 'compaction', encrypted: 'AAECAw==' } },
  { type: 'opaque', provider: 'acme', data: null },
];

describe('contentBlockSchema', () => {
  test.each(blocks)('round trip of $type', (block) => {
    for (const each of [block, { ...block, providerMetadata }]) {
      const stored = JSON.stringify(each);
      expect(JSON.stringify(contentBlockSchema.parse(JSON.parse(stored)))).toBe(stored);
    }
  });

  test.each(blocks)('keeps an unknown field of $type', (block) => {
    const future = { ...block, since: 'next version' };
    expect(contentBlockSchema.parse(future)).toEqual(future);
  });

  test.each([
    [{ type: 'text' }, 'text'],
    [{ type: 'text', text: 5 }, 'text'],
    [{ type: 'text', text: 'a', providerMetadata: 'none' }, 'providerMetadata'],
    [{ type: 'thinking', thinking: 'a', signature: null }, 'signature'],
    [{ type: 'file', mediaType: 'image/png' }, 'source'],
    [{ type: 'file', mediaType: 'image/png', source: { type: 'base64' } }, 'source.data'],
    [{ type: 'file', mediaType: 'image/png', source: { type: 'ftp', url: 'x' } }, 'source.type'],
    [{ type: 'tool_use', id: 'c', name: 'n' }, 'input'],
    [{ type: 'tool_use', id: 1, name: 'n', input: {} }, 'id'],
    [{ type: 'tool_result', toolUseId: 'c', toolName: 'n', output: [] }, 'isError'],
    [
      {
        type: 'tool_result',
        toolUseId: 'c',
        toolName: 'n',
        isError: false,
        output: [{ type: 'text', text: 'a' }, { type: 'text' }],
      },
      'output[1].text',
    ],
    [
      {
        type: 'tool_result',
        toolUseId: 'c',
        toolName: 'n',
        isError: false,
        output: [{ type: 'thinking', thinking: 'a' }],
      },
      'output[0].type',
    ],
    [{ type: 'opaque', provider: 'acme' }, 'data'],
    [{ type: 'image' }, 'type'],
    [{}, 'type'],
  ])('refuses %j at %s', (block, path) => {
    const error = errorOf(() => parseWith(contentBlockSchema, block, 'ContentBlock'));
    expect(InvalidInputError.isInstance(error) && error.issues.map((issue) => issue.path)).toEqual([path]);
  });
});
