import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  assistantMessage,
  ContextOverflowError,
  type Message,
  ModelError,
  type ModelRequest,
  toolResultMessage,
  toolUsesOf,
  userMessage,
} from '@x/core';
import type { ToolDefinition } from '@x/core/messages';
import { describe, expect, it } from 'vitest';
import { fromAiSdk } from '../../src/index.js';
import { collect, rejection } from '../support/collect.js';
import { type Answer, type ModelServer, modelServer } from '../support/model-server.js';

const weather: ToolDefinition = {
  name: 'get_weather',
  description: 'Current weather of a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

async function connect(...answers: readonly Answer[]) {
  const server = await modelServer(...answers);
  return { server, model: modelAt(server) };
}

function modelAt(server: ModelServer) {
  const provider = createOpenAICompatible({
    name: 'acme',
    baseURL: `${server.url}/v1`,
    apiKey: 'key',
    includeUsage: true,
  });
  return fromAiSdk(provider('large'), { contextWindow: 10_000 });
}

function request(extra: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [userMessage('Weather in Bern?')], tools: [], ...extra };
}

const completion = (message: object, finish_reason = 'stop', usage?: object) => ({
  json: {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'large',
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
    ...(usage === undefined ? {} : { usage }),
  },
});
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'large',
  choices: [{ index: 0, delta, finish_reason }],
});
const usageChunk = (usage: object) => ({ id: 'c1', created: 1, model: 'large', choices: [], usage });
const call = (args: string) => ({
  id: 'call_9',
  type: 'function',
  function: { name: 'get_weather', arguments: args },
});

describe('OpenAI-compatible servers', () => {
  it('takes part in a whole turn: text, tool call, result, text', async () => {
    const { server, model } = await connect(
      completion({ content: 'Looking.', tool_calls: [call('{"city":"Bern"}')] }, 'tool_calls', {
        prompt_tokens: 50,
        completion_tokens: 9,
        prompt_tokens_details: { cached_tokens: 32 },
        completion_tokens_details: { reasoning_tokens: 4 },
      }),
      completion({ content: 'Sunny.' }),
    );
    const user = userMessage('Weather in Bern?');
    const first = await model.generate({
      system: 'Be brief.',
      messages: [user],
      tools: [weather],
      maxOutputTokens: 100,
      temperature: 0.5,
    });
    expect(first).toMatchObject({
      content: [
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id: 'call_9', name: 'get_weather', input: { city: 'Bern' } },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 50, outputTokens: 9, cachedInputTokens: 32, reasoningTokens: 4 },
    });
    expect(server.bodies[0]).toMatchObject({
      model: 'large',
      max_tokens: 100,
      temperature: 0.5,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather in Bern?' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: weather.description,
            parameters: weather.inputSchema,
          },
        },
      ],
    });

    const answer = assistantMessage(first.content);
    const results = toolUsesOf(answer).map((use) => toolResultMessage(use, 'Sunny, 21 °C'));
    const second = await model.generate({ messages: [user, answer, ...results], tools: [weather] });
    expect(second).toEqual({
      content: [{ type: 'text', text: 'Sunny.' }],
      finishReason: 'stop',
      id: 'c1',
      model: 'large',
      providerMetadata: { acme: {} },
    });
    expect(server.bodies[1]?.messages).toEqual([
      { role: 'user', content: 'Weather in Bern?' },
      { role: 'assistant', content: 'Looking.', tool_calls: [call('{"city":"Bern"}')] },
      { role: 'tool', tool_call_id: 'call_9', content: 'Sunny, 21 °C' },
    ]);
  });

  it('keeps a call whose input is no JSON, and can send it back', async () => {
    const broken = '{"city": "Be';
    const { server, model } = await connect(
      completion({ tool_calls: [call(broken)] }, 'tool_calls'),
      completion({ content: 'Sorry.' }),
    );
    const first = await model.generate(request({ tools: [weather] }));
    expect(first.content).toMatchObject([{ type: 'tool_use', id: 'call_9', input: broken }]);
    const answer = assistantMessage(first.content);
    const failure = toolResultMessage({ id: 'call_9', name: 'get_weather' }, 'Not an object', {
      isError: true,
    });
    await model.generate({ messages: [userMessage('Hi'), answer, failure], tools: [] });
    expect(server.bodies[1]?.messages).toMatchObject([
      {},
      { tool_calls: [{ function: { arguments: JSON.stringify({ invalid_input: broken }) } }] },
      { content: 'Not an object' },
    ]);
  });

  it('streams text, reasoning and a tool call, with usage', async () => {
    const { model } = await connect({
      events: [
        chunk({ role: 'assistant', reasoning_content: 'Hm' }),
        chunk({ reasoning_content: '…' }),
        chunk({ content: 'Look' }),
        chunk({ content: 'ing.' }),
        chunk({ tool_calls: [{ index: 0, ...call('{"ci') }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: 'ty":"Bern"}' } }] }),
        chunk({}, 'tool_calls'),
        usageChunk({ prompt_tokens: 50, completion_tokens: 9 }),
        '[DONE]',
      ],
    });
    const { deltas, response } = await collect(model.stream?.(request({ tools: [weather] })));
    expect(deltas).toEqual([
      { type: 'thinking-delta', text: 'Hm' },
      { type: 'thinking-delta', text: '…' },
      { type: 'text-delta', text: 'Look' },
      { type: 'text-delta', text: 'ing.' },
      { type: 'tool-call-delta', id: 'call_9', name: 'get_weather', inputDelta: '{"ci' },
      { type: 'tool-call-delta', id: 'call_9', name: 'get_weather', inputDelta: 'ty":"Bern"}' },
    ]);
    expect(response).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hm…' },
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id: 'call_9', input: { city: 'Bern' } },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 50, outputTokens: 9 },
    });
  });

  it('says tool-calls where the server says stop', async () => {
    const { model } = await connect(completion({ tool_calls: [call('{}')] }, 'stop'));
    expect(await model.generate(request())).toMatchObject({ finishReason: 'tool-calls' });
  });

  describe.each([
    [
      'generate',
      (model: ReturnType<typeof modelAt>, signal?: AbortSignal) => model.generate(request({ signal })),
    ],
    [
      'stream',
      (model: ReturnType<typeof modelAt>, signal?: AbortSignal) =>
        collect(model.stream?.(request({ signal }))),
    ],
  ])('failures of %s', (_, ask) => {
    it('recognizes an overflow', async () => {
      const message =
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens. Please reduce the length of the messages.";
      const { server, model } = await connect({
        status: 400,
        json: { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } },
      });
      const error = await rejection(ask(model));
      expect(ContextOverflowError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({
        modelId: 'acme.chat:large',
        contextWindow: 8_192,
        message: expect.stringContaining(message),
        cause: { statusCode: 400, responseBody: expect.stringContaining('context_length_exceeded') },
      });
      expect(server.bodies).toHaveLength(1);
    });

    it('passes on how long a rate limit lasts', async () => {
      const { server, model } = await connect({
        status: 429,
        headers: { 'retry-after': '7' },
        json: {
          error: { message: 'Rate limit: tokens per minute', type: 'tokens', code: 'rate_limit_exceeded' },
        },
      });
      const error = await rejection(ask(model));
      expect(ModelError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ retryable: true, status: 429, retryAfterMs: 7_000 });
      expect(server.bodies).toHaveLength(1);
    });

    it('tells a failing server from a wrong key', async () => {
      const { server, model } = await connect(
        { status: 500, json: { error: { message: 'Internal' } } },
        { status: 401, json: { error: { message: 'Incorrect API key', code: 'invalid_api_key' } } },
      );
      expect(await rejection(ask(model))).toMatchObject({
        retryable: true,
        status: 500,
        message: `The call of acme.chat:large failed with 500 at ${server.url}/v1/chat/completions: Internal`,
      });
      expect(await rejection(ask(model))).toMatchObject({ retryable: false, status: 401 });
    });

    it('may be tried again when nobody listens', async () => {
      const server = await modelServer();
      const unreachable = { ...server, url: 'http://127.0.0.1:1' };
      const error = await rejection(ask(modelAt(unreachable)));
      expect(error).toMatchObject({ retryable: true, status: undefined, code: 'model_error' });
    });

    it('tells of a web page, and that one more request may help', async () => {
      const { server, model } = await connect({ headers: { 'content-type': 'text/html' } });
      expect(await rejection(ask(model))).toMatchObject({
        retryable: true,
        maxRetries: 1,
        message: expect.stringMatching(/answered with a web page \(text\/html\)\. Check the base URL\.$/),
      });
      expect(server.bodies).toHaveLength(1);
    });

    it('rejects with the reason of the signal', async () => {
      const reason = new Error('interrupted');
      const { server, model } = await connect({ events: [chunk({ content: 'One ' })], hangs: true });
      const controller = new AbortController();
      const asked = rejection(ask(model, controller.signal));
      await waitFor(() => server.bodies.length === 1);
      controller.abort(reason);
      expect(await asked).toBe(reason);
      await server.closed;
      expect(await rejection(ask(model, AbortSignal.abort(reason)))).toBe(reason);
      expect(server.bodies).toHaveLength(1);
    });
  });

  it.each([
    ['breaks', { events: [chunk({ content: 'Half' })], breaks: true }],
    ['ends early', { events: [chunk({ content: 'Half' })] }],
    [
      'reports overload',
      {
        events: [chunk({ content: 'Half' }), { error: { message: 'Overloaded', type: 'overloaded_error' } }],
      },
    ],
  ])('may be tried again when the stream %s', async (_, answer) => {
    const { model } = await connect(answer);
    const error = await rejection(collect(model.stream?.(request())));
    expect(ModelError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ retryable: true });
  });

  it('lets go of the connection when the reader leaves', async () => {
    const { server, model } = await connect({ events: [chunk({ content: 'One ' })], hangs: true });
    for await (const part of model.stream?.(request()) ?? []) {
      expect(part).toEqual({ type: 'text-delta', text: 'One ' });
      break;
    }
    await server.closed;
  });

  it('sees an overflow that the server kept to itself', async () => {
    const full = { prompt_tokens: 10_500, completion_tokens: 0 };
    const { model } = await connect(completion({ content: '' }, 'length', full), {
      events: [chunk({ content: '' }), chunk({}, 'length'), usageChunk(full), '[DONE]'],
    });
    const expected = { code: 'context_overflow', inputTokens: 10_500, contextWindow: 10_000 };
    expect(await rejection(model.generate(request()))).toMatchObject(expected);
    expect(await rejection(collect(model.stream?.(request())))).toMatchObject(expected);
  });

  it('sends summaries and injected messages as the user’s words, and files', async () => {
    const { server, model } = await connect(completion({ content: 'ok' }));
    const messages: Message[] = [
      userMessage('[CONVERSATION_SUMMARY] …', { kind: 'summary' }),
      userMessage(
        [
          { type: 'text', text: 'Look' },
          { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } },
          {
            type: 'file',
            mediaType: 'image/png',
            source: { type: 'url', url: 'https://pictures.test/a.png' },
          },
        ],
        { kind: 'synthetic' },
      ),
    ];
    await model.generate({ messages, tools: [] });
    expect(server.bodies[0]?.messages).toEqual([
      { role: 'user', content: '[CONVERSATION_SUMMARY] …' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://pictures.test/a.png' } },
        ],
      },
    ]);
  });
});

async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
