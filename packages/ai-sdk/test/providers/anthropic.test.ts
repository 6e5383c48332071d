import { createAnthropic } from '@ai-sdk/anthropic';
import {
  assistantMessage,
  type ContentBlock,
  ContextOverflowError,
  type Message,
  ModelError,
  type ModelRequest,
  toolResultMessage,
  userMessage,
} from '@x/core';
import type { ToolDefinition } from '@x/core/messages';
import { describe, expect, it } from 'vitest';
import { type FromAiSdkOptions, fromAiSdk } from '../../src/index.js';
import { anthropicAnswer } from '../support/answers.js';
import { collect, rejection } from '../support/collect.js';
import { type Answer, modelServer } from '../support/model-server.js';

/** As long and as odd as real ones are; it must come back without one byte changed. */
const SIGNATURE = `EqoB${'Ab9+/zQ'.repeat(60)}==`;

const weather: ToolDefinition = {
  name: 'get_weather',
  description: 'Current weather of a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
};
const toolUse = { type: 'tool_use', id: 'toolu_01', name: 'get_weather', input: { city: 'Bern' } };

async function connect(options: FromAiSdkOptions, ...answers: readonly Answer[]) {
  const server = await modelServer(...answers);
  const anthropic = createAnthropic({ baseURL: server.url, apiKey: 'key' });
  return { server, model: fromAiSdk(anthropic('claude-sonnet-4-5'), { contextWindow: 200_000, ...options }) };
}

const request = (messages: readonly Message[] = [userMessage('Weather in Bern?')]): ModelRequest => ({
  system: 'Be brief.',
  messages,
  tools: [weather],
});

const event = (data: { readonly type: string; readonly [key: string]: unknown }) =>
  [data.type, data] as const;

/** An answer of thinking, text and a tool call, streamed as the API streams it. */
const streamed = [
  event({
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        cache_read_input_tokens: 90,
        cache_creation_input_tokens: 7,
        output_tokens: 1,
      },
    },
  }),
  event({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'thinking', thinking: '', signature: '' },
  }),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Weather, ' } }),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'then.' } }),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: SIGNATURE } }),
  event({ type: 'content_block_stop', index: 0 }),
  event({ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } }),
  event({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Looking.' } }),
  event({ type: 'content_block_stop', index: 1 }),
  event({ type: 'content_block_start', index: 2, content_block: { ...toolUse, input: {} } }),
  event({
    type: 'content_block_delta',
    index: 2,
    delta: { type: 'input_json_delta', partial_json: '{"city":' },
  }),
  event({
    type: 'content_block_delta',
    index: 2,
    delta: { type: 'input_json_delta', partial_json: '"Bern"}' },
  }),
  event({ type: 'content_block_stop', index: 2 }),
  event({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 40 },
  }),
  event({ type: 'message_stop' }),
];

describe('Anthropic', () => {
  it.each([
    [
      'generate',
      anthropicAnswer(
        [
          { type: 'thinking', thinking: 'Weather, then.', signature: SIGNATURE },
          { type: 'text', text: 'Looking.' },
          toolUse,
        ],
        {
          usage: {
            input_tokens: 10,
            output_tokens: 40,
            cache_read_input_tokens: 90,
            cache_creation_input_tokens: 7,
          },
        },
      ),
    ],
    ['stream', { events: streamed }],
  ])('gives signed thinking back byte for byte after %s', async (how, answer) => {
    const { server, model } = await connect({}, answer, anthropicAnswer([{ type: 'text', text: 'Sunny.' }]));
    const user = userMessage('Weather in Bern?');
    const first =
      how === 'stream'
        ? (await collect(model.stream?.(request([user])))).response
        : await model.generate(request([user]));
    expect(first).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Weather, then.', signature: SIGNATURE },
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id: 'toolu_01', name: 'get_weather', input: { city: 'Bern' } },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 107, outputTokens: 40, cachedInputTokens: 90, cacheWriteTokens: 7 },
    });

    // As a store would keep it.
    const stored = JSON.parse(JSON.stringify(assistantMessage(first.content))) as Message;
    const failure = toolResultMessage({ id: 'toolu_01', name: 'get_weather' }, 'No such city', {
      isError: true,
    });
    const second = await model.generate(request([user, stored, failure]));
    expect(second.content).toEqual([{ type: 'text', text: 'Sunny.' }]);
    expect(server.bodies[1]).toMatchObject({
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Weather in Bern?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Weather, then.', signature: SIGNATURE },
            { type: 'text', text: 'Looking.' },
            toolUse,
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_01', content: 'No such city', is_error: true },
          ],
        },
      ],
    });
  });

  it('keeps redacted thinking and compactions', async () => {
    const { server, model } = await connect(
      {},
      anthropicAnswer([
        { type: 'redacted_thinking', data: SIGNATURE },
        { type: 'compaction', content: 'All of the past' },
        { type: 'text', text: 'Go on.' },
      ]),
      anthropicAnswer([{ type: 'text', text: 'ok' }]),
    );
    const { content } = await model.generate(request());
    await model.generate(request([userMessage('Hi'), assistantMessage(content), userMessage('On')]));
    expect(server.bodies[1]?.messages).toMatchObject([
      {},
      {
        content: [
          { type: 'redacted_thinking', data: SIGNATURE },
          { type: 'compaction', content: 'All of the past' },
          { type: 'text', text: 'Go on.' },
        ],
      },
      {},
    ]);
  });

  it('carries a search that the provider ran itself, and gives it back', async () => {
    const search = {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'web_search',
      input: { query: 'Bern weather' },
    };
    const found = {
      type: 'web_search_result',
      url: 'https://weather.test/bern',
      title: 'Bern',
      encrypted_content: SIGNATURE,
      page_age: null,
    };
    const result = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] };
    const { server, model } = await connect(
      {
        providerTools: [
          { type: 'provider', id: 'anthropic.web_search_20250305', name: 'web_search', args: {} },
        ],
      },
      anthropicAnswer([search, result, { type: 'text', text: 'Sunny.' }]),
      anthropicAnswer([{ type: 'text', text: 'ok' }]),
    );
    const { content, finishReason } = await model.generate(request());
    expect(finishReason).toBe('stop');
    const types = content.map((block: ContentBlock) =>
      block.type === 'opaque' ? (block.data as { type: string }).type : block.type,
    );
    expect(types).toEqual(['tool-call', 'tool-result', 'source', 'text']);
    expect(content[0]).toMatchObject({ type: 'opaque', provider: 'anthropic.messages' });
    const stored = JSON.parse(JSON.stringify(assistantMessage(content))) as Message;
    await model.generate(request([userMessage('Hi'), stored, userMessage('On')]));
    expect(server.bodies[1]?.messages).toMatchObject([
      {},
      { role: 'assistant', content: [search, result, { type: 'text', text: 'Sunny.' }] },
      {},
    ]);
  });

  it('reads images that tools answer with, and options of the call', async () => {
    const { server, model } = await connect(
      {
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
        headers: { 'x-team': 'seven' },
      },
      anthropicAnswer([{ type: 'text', text: 'ok' }]),
    );
    const call = { ...toolUse, type: 'tool_use' as const };
    const shot = toolResultMessage(call, [
      { type: 'text', text: 'The map:' },
      { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } },
    ]);
    await model.generate(request([userMessage('Hi'), assistantMessage([call]), shot]));
    expect(server.requests[0]?.headers['x-team']).toBe('seven');
    expect(server.bodies[0]).toMatchObject({
      cache_control: { type: 'ephemeral' },
      messages: [
        {},
        {},
        {
          content: [
            {
              type: 'tool_result',
              content: [
                { type: 'text', text: 'The map:' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
              ],
            },
          ],
        },
      ],
    });
  });

  it('knows its ways of saying that the context is full', async () => {
    const tooLong = {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' },
    };
    const tooLarge = {
      type: 'error',
      error: { type: 'request_too_large', message: 'Request exceeds the maximum size' },
    };
    const { model } = await connect(
      {},
      { status: 400, json: tooLong },
      { status: 413, json: tooLarge },
      anthropicAnswer([{ type: 'text', text: 'Half of an' }], {
        stop_reason: 'model_context_window_exceeded',
      }),
      anthropicAnswer([{ type: 'text', text: 'Half of an' }], { stop_reason: 'max_tokens' }),
    );
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(ContextOverflowError.isInstance(await rejection(model.generate(request())))).toBe(true);
    }
    expect(await model.generate(request())).toMatchObject({ finishReason: 'length' });
  });

  it('may be tried again when overloaded, also in the middle of a stream', async () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const { model } = await connect(
      {},
      { status: 529, json: overloaded },
      { events: [...streamed.slice(0, 8), event(overloaded)] },
    );
    // One after the other: the server gives its answers in their order.
    for (const ask of [() => model.generate(request()), () => collect(model.stream?.(request()))]) {
      const error = await rejection(ask());
      expect(ModelError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ retryable: true, message: expect.stringContaining('Overloaded') });
    }
  });
});
