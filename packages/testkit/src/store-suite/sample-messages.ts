import { type ContentBlock, type JsonObject, type Message, userMessage } from '@x/core';

/** Text that careless storage changes: lone surrogates, line separators, control characters, quotes. */
const NASTY_TEXT =
  'line\nbreak\r\n\ttab "quotes" \'single\' `back` \\ back/slash é e\u0301 漢字 🦀 \ud83d lone \ude00 \u2028 \u2029 ' +
  '\u0000 nul \u0001 \u007f \ufeff $x %s %00 {{y}} <b> -- ; DROP TABLE';

const nested: JsonObject = {
  zebra: 1,
  apple: [true, false, null, 0, -1.5, 1e21, 1e-7, 9007199254740991, '', [], {}],
  '': 'empty name',
  'dots.and $signs': { deep: { deeper: { deepest: [[[NASTY_TEXT]]] } } },
};

const providerMetadata: JsonObject = { acme: { signature: 'c2lnbmF0dXJl', order: ['z', 'a'], nested } };

/** One block of every kind and source with all fields, and one without optional fields. */
const everyBlock: readonly ContentBlock[] = [
  { type: 'text', text: NASTY_TEXT, providerMetadata },
  { type: 'text', text: '' },
  { type: 'thinking', thinking: NASTY_TEXT, signature: 'EqQB+/=', providerMetadata },
  { type: 'thinking', thinking: 'unsigned' },
  {
    type: 'file',
    mediaType: 'image/png',
    source: { type: 'base64', data: 'iVBORw0KGgo=' },
    filename: 'Ünï "code".png',
    providerMetadata,
  },
  { type: 'file', mediaType: 'text/html', source: { type: 'url', url: 'https://example.com/?a=1&b=%20' } },
  { type: 'file', mediaType: 'text/plain', source: { type: 'workspace', path: 'notes/a b.txt' } },
  {
    type: 'file',
    mediaType: 'application/pdf',
    source: { type: 'provider', provider: 'acme', id: 'file-1' },
  },
  { type: 'tool_use', id: 'call-1', name: 'search', input: nested, providerMetadata },
  { type: 'tool_use', id: 'call-2', name: 'ping', input: null },
  {
    type: 'tool_result',
    toolUseId: 'call-1',
    toolName: 'search',
    output: [
      { type: 'text', text: NASTY_TEXT, providerMetadata },
      { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AA==' }, filename: 'a.png' },
    ],
    isError: false,
    providerMetadata,
  },
  { type: 'tool_result', toolUseId: 'call-2', toolName: 'ping', output: [], isError: true },
  {
    type: 'opaque',
    provider: 'acme',
    data: { encrypted_content: 'gAAAA', items: [nested] },
    providerMetadata,
  },
  { type: 'opaque', provider: 'acme', data: 'a string' },
];

/** Returns messages with every role, kind and block. */
export function everyMessage(): Message[] {
  const createdAt = '2026-01-02T03:04:05.678Z';
  return [
    { id: 'system-1', role: 'system', content: [{ type: 'text', text: 'Be brief.' }], createdAt },
    { id: 'user-1', role: 'user', content: everyBlock, createdAt, metadata: nested },
    { id: 'summary-1', role: 'user', content: everyBlock, createdAt, kind: 'summary', metadata: {} },
    { id: 'synthetic-1', role: 'user', content: [], createdAt, kind: 'synthetic' },
    { id: 'assistant-1', role: 'assistant', content: everyBlock, createdAt },
    { id: 'tool-1', role: 'tool', content: everyBlock, createdAt },
    { id: NASTY_TEXT, role: 'user', content: [], createdAt },
  ];
}

/** A head with every kind of JSON value. */
export const everyHead: JsonObject = {
  schemaVersion: 1,
  text: NASTY_TEXT,
  nested,
  empty: {},
  list: [nested],
};

/** Returns short messages with the ids `<prefix>0`, `<prefix>1`… */
export function numbered(count: number, prefix = 'm'): Message[] {
  return Array.from({ length: count }, (_, index) =>
    userMessage(`text of ${prefix}${index}`, {
      id: `${prefix}${index}`,
      createdAt: '2026-01-02T03:04:05.678Z',
    }),
  );
}
