import type { ContentBlock, FileBlock, JsonObject, JsonValue, Message } from '@x/core';
import type { FileSource } from '@x/core/messages';
import fc from 'fast-check';

const text = fc.string({ unit: 'binary', maxLength: 20 });
const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;

/** What providers attach: an object of JSON for each provider. */
export const metadata: fc.Arbitrary<{ readonly [provider: string]: JsonObject }> = fc.dictionary(
  fc.constantFrom('anthropic', 'openai', 'google', 'acme', 'constructor'),
  fc.dictionary(fc.constantFrom('signature', 'itemId', 'nested', 'ключ'), json, { maxKeys: 3 }),
  { minKeys: 1, maxKeys: 2 },
);
const withMetadata = { providerMetadata: fc.option(metadata, { nil: undefined }) };

const source: fc.Arbitrary<FileSource> = fc.oneof(
  fc.record({ type: fc.constant('base64' as const), data: fc.base64String() }),
  fc.record({
    type: fc.constant('url' as const),
    url: fc.oneof(fc.webUrl(), fc.constant('data:image/png;base64,AAAA'), text),
  }),
  fc.record({ type: fc.constant('workspace' as const), path: text }),
  fc.record({
    type: fc.constant('provider' as const),
    provider: fc.constantFrom('openai', 'acme'),
    id: text,
  }),
);
const file: fc.Arbitrary<FileBlock> = fc.record({
  type: fc.constant('file' as const),
  mediaType: fc.constantFrom('image/png', 'application/pdf', 'text/plain'),
  source,
  filename: fc.option(text, { nil: undefined }),
  ...withMetadata,
});
const textBlock = fc.record({ type: fc.constant('text' as const), text, ...withMetadata });

const opaqueData: fc.Arbitrary<JsonValue> = fc.oneof(
  json,
  fc.record({
    type: fc.constantFrom('custom', 'source', 'citations', 'tool-approval-request', 'later'),
    kind: text,
  }),
  fc.record({ type: fc.constant('tool-approval-response'), approvalId: text, approved: fc.boolean() }),
  fc.record({
    type: fc.constant('tool-call'),
    toolCallId: text,
    toolName: text,
    input: text,
    providerMetadata: metadata,
  }),
  fc.record({
    type: fc.constant('tool-result'),
    toolCallId: text,
    toolName: text,
    result: json,
    isError: fc.boolean(),
  }),
  fc.record({
    type: fc.constant('reasoning-file'),
    mediaType: text,
    data: fc.record({ type: fc.constantFrom('data', 'url'), url: fc.webUrl() }),
  }),
);

/** Any block that the schema of messages lets through. */
const block: fc.Arbitrary<ContentBlock> = fc.oneof(
  textBlock,
  fc.record({
    type: fc.constant('thinking' as const),
    thinking: text,
    signature: fc.option(text, { nil: undefined }),
    ...withMetadata,
  }),
  file,
  fc.record({ type: fc.constant('tool_use' as const), id: text, name: text, input: json, ...withMetadata }),
  fc.record({
    type: fc.constant('tool_result' as const),
    toolUseId: text,
    toolName: text,
    output: fc.array(fc.oneof(textBlock, file), { maxLength: 3 }),
    isError: fc.boolean(),
    ...withMetadata,
  }),
  fc.record({
    type: fc.constant('opaque' as const),
    provider: fc.constantFrom('acme.chat', 'openai.responses'),
    data: opaqueData,
    ...withMetadata,
  }),
);

/** Any conversation, sensible or not. */
export const messages: fc.Arbitrary<readonly Message[]> = fc.array(
  fc.record({
    id: fc.uuid(),
    role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const, 'tool' as const),
    content: fc.array(block, { maxLength: 4 }),
    createdAt: fc.constant('2026-01-01T00:00:00.000Z'),
    kind: fc.constantFrom(undefined, 'summary' as const, 'synthetic' as const),
  }),
  { maxLength: 6 },
);
