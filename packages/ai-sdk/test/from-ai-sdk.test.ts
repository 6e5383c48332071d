import type { LanguageModelV3GenerateResult, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { CapabilityError, InvalidInputError, type ModelRequest, userMessage } from '@x/core';
import { simulateReadableStream } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { type AiSdkLanguageModel, fromAiSdk } from '../src/index.js';
import type { CallOptions, GenerateResult, StreamPart } from '../src/language-model.js';
import { collect, rejection } from './support/collect.js';

const request: ModelRequest = { messages: [userMessage('Hi')], tools: [] };
const v3Usage = {
  inputTokens: { total: 9, noCache: 4, cacheRead: 5, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined },
};
const v3Result: LanguageModelV3GenerateResult = {
  content: [{ type: 'text', text: 'Hello', providerMetadata: { acme: { itemId: 'i1' } } }],
  finishReason: { unified: 'stop', raw: 'end' },
  usage: v3Usage,
  providerMetadata: { acme: { responseId: 'r1' } },
  warnings: [{ type: 'unsupported', feature: 'seed' }],
};

/** A model of another version that answers with these parts. */
function literal(
  specificationVersion: 'v2' | 'v4',
  result: GenerateResult,
  parts: readonly StreamPart[] = [],
): AiSdkLanguageModel & { readonly calls: CallOptions[] } {
  const calls: CallOptions[] = [];
  return {
    specificationVersion,
    provider: 'acme.chat',
    modelId: 'large',
    supportedUrls: Promise.resolve({}),
    calls,
    async doGenerate(options) {
      calls.push(options);
      return result;
    },
    async doStream(options) {
      calls.push(options);
      return {
        stream: simulateReadableStream({ chunks: [...parts], initialDelayInMs: null, chunkDelayInMs: null }),
      };
    },
  };
}

describe('version 3, the SDK’s own mock', () => {
  it('generates', async () => {
    const mock = new MockLanguageModelV3({ doGenerate: v3Result });
    const warnings: unknown[] = [];
    const model = fromAiSdk(mock, {
      contextWindow: 1_000,
      maxOutputTokens: 5,
      topP: 0.9,
      stopSequences: ['END'],
      providerOptions: { acme: { effort: 'low' } },
      headers: { 'x-a': 'b' },
      onWarning: (warning) => warnings.push(warning),
    });
    expect(model).toMatchObject({ id: 'mock-provider:mock-model-id', contextWindow: 1_000 });
    const signal = new AbortController().signal;
    const tools = [{ name: 'a', description: 'A', inputSchema: { type: 'object', properties: {} } }];
    expect(await model.generate({ ...request, tools, temperature: 0, maxOutputTokens: 7, signal })).toEqual({
      content: [{ type: 'text', text: 'Hello', providerMetadata: { acme: { itemId: 'i1' } } }],
      finishReason: 'stop',
      usage: { inputTokens: 9, outputTokens: 2, cachedInputTokens: 5 },
      providerMetadata: { acme: { responseId: 'r1' } },
    });
    expect(mock.doGenerateCalls).toEqual([
      {
        prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
        tools: [{ type: 'function', ...tools[0] }],
        maxOutputTokens: 7,
        temperature: 0,
        topP: 0.9,
        stopSequences: ['END'],
        providerOptions: { acme: { effort: 'low' } },
        headers: { 'x-a': 'b' },
        abortSignal: signal,
      },
    ]);
    expect(warnings).toEqual(v3Result.warnings);
  });

  it('names nothing that nobody asked for', async () => {
    const mock = new MockLanguageModelV3({ doGenerate: v3Result });
    await fromAiSdk(mock).generate(request);
    expect(Object.keys(mock.doGenerateCalls[0] ?? {})).toEqual(['prompt']);
  });

  it('streams what it would have generated', async () => {
    const chunks: LanguageModelV3StreamPart[] = [
      { type: 'stream-start', warnings: [{ type: 'other', message: 'w' }] },
      { type: 'response-metadata', id: 'r1' },
      { type: 'reasoning-start', id: '0', providerMetadata: { acme: { itemId: 'rs', secret: 'early' } } },
      { type: 'text-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm' },
      { type: 'text-delta', id: '0', delta: 'Hel' },
      { type: 'text-delta', id: '0', delta: 'lo' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { acme: { signature: 'sig' } } },
      { type: 'text-end', id: '0', providerMetadata: { acme: { itemId: 'i1' } } },
      { type: 'reasoning-end', id: '0', providerMetadata: { acme: { secret: 'late' } } },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Again' },
      { type: 'text-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-end', id: '1' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'now', input: '' },
      { type: 'tool-input-start', id: 'c2', toolName: 'search', providerExecuted: true },
      { type: 'tool-input-delta', id: 'c2', delta: '{}' },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'c2', toolName: 'search', result: { draft: 1 }, preliminary: true },
      { type: 'tool-result', toolCallId: 'c2', toolName: 'search', result: { hits: 1 } },
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) },
      {
        type: 'finish',
        finishReason: { unified: 'stop', raw: 'end' },
        usage: v3Usage,
        providerMetadata: { acme: { n: 1 } },
      },
    ];
    const mock = new MockLanguageModelV3({
      doStream: { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) },
    });
    const warnings: unknown[] = [];
    const model = fromAiSdk(mock, { onWarning: (warning) => warnings.push(warning) });
    const { deltas, response } = await collect(model.stream?.(request));
    expect(deltas).toEqual([
      { type: 'thinking-delta', text: 'Hm' },
      { type: 'text-delta', text: 'Hel' },
      { type: 'text-delta', text: 'lo' },
      { type: 'text-delta', text: 'Again' },
    ]);
    expect(response).toEqual({
      id: 'r1',
      content: [
        {
          type: 'thinking',
          thinking: 'Hm',
          signature: 'sig',
          providerMetadata: { acme: { itemId: 'rs', secret: 'late', signature: 'sig' } },
        },
        { type: 'text', text: 'Hello', providerMetadata: { acme: { itemId: 'i1' } } },
        { type: 'text', text: 'Again' },
        { type: 'tool_use', id: 'c1', name: 'now', input: {} },
        {
          type: 'opaque',
          provider: 'mock-provider',
          data: {
            type: 'tool-call',
            toolCallId: 'c2',
            toolName: 'search',
            input: '{}',
            providerExecuted: true,
          },
          callId: 'c2',
          half: 'call',
        },
        {
          type: 'opaque',
          provider: 'mock-provider',
          data: { type: 'tool-result', toolCallId: 'c2', toolName: 'search', result: { hits: 1 } },
          callId: 'c2',
          half: 'result',
        },
        { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AQID' } },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 9, outputTokens: 2, cachedInputTokens: 5 },
      providerMetadata: { acme: { n: 1 } },
    });
    expect(warnings).toEqual([{ type: 'other', message: 'w' }]);
  });

  it('rejects with the reason when the model does not listen to the signal', async () => {
    const mock = new MockLanguageModelV3({
      doGenerate: () => new Promise(() => {}),
      doStream: { stream: new ReadableStream({}) },
    });
    const model = fromAiSdk(mock);
    for (const ask of [
      (signal: AbortSignal) => model.generate({ ...request, signal }),
      (signal: AbortSignal) => collect(model.stream?.({ ...request, signal })),
    ]) {
      const controller = new AbortController();
      const asked = rejection(ask(controller.signal));
      controller.abort('enough');
      expect(await asked).toBe('enough');
    }
  });

  it('keeps the original error as the cause', async () => {
    const cause = new Error('The model is on holiday');
    const mock = new MockLanguageModelV3({
      doGenerate: async () => {
        throw cause;
      },
    });
    expect(await rejection(fromAiSdk(mock).generate(request))).toMatchObject({
      code: 'model_error',
      message: 'The call of mock-provider:mock-model-id failed: The model is on holiday',
      retryable: false,
      cause,
    });
  });
});

describe('version 2', () => {
  const usage = {
    inputTokens: 9,
    outputTokens: 2,
    totalTokens: 11,
    cachedInputTokens: 5,
    reasoningTokens: 1,
  };
  const expected = { inputTokens: 9, outputTokens: 2, cachedInputTokens: 5, reasoningTokens: 1 };

  it('generates and streams', async () => {
    const old = literal(
      'v2',
      { content: [{ type: 'text', text: 'Hello' }], finishReason: 'unknown', usage, warnings: [] },
      [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'Hello' },
        { type: 'text-end', id: '1' },
        { type: 'finish', finishReason: 'stop', usage },
      ],
    );
    const model = fromAiSdk(old);
    expect(await model.generate(request)).toEqual({
      content: [{ type: 'text', text: 'Hello' }],
      finishReason: 'other',
      usage: expected,
    });
    expect((await collect(model.stream?.(request))).response).toEqual({
      content: [{ type: 'text', text: 'Hello' }],
      finishReason: 'stop',
      usage: expected,
    });
  });
});

describe('a stream that ends without its end', () => {
  it('is no answer, and may be tried again', async () => {
    const model = literal('v2', { content: [], finishReason: 'stop', usage: {}, warnings: [] }, [
      { type: 'text-delta', id: '1', delta: 'Half' },
    ]);
    expect(await rejection(collect(fromAiSdk(model).stream?.(request)))).toMatchObject({
      code: 'model_error',
      retryable: true,
    });
  });
});

describe('version 4', () => {
  const result: GenerateResult = {
    content: [
      { type: 'text', text: 'Hello', citations: [{ source: { type: 'source', url: 'https://a.test' } }] },
      {
        type: 'custom',
        providerMetadata: { openai: { type: 'compaction', itemId: 'cmp_1', encryptedContent: 'x' } },
      },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://a.test/p.png') } },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
    ],
    finishReason: { unified: 'interrupted', raw: undefined },
    usage: {
      inputTokens: { total: undefined, noCache: 4, cacheRead: 5, cacheWrite: 1 },
      outputTokens: { total: undefined, text: 1, reasoning: 2 },
    },
    warnings: [],
  };

  it('generates', async () => {
    const model = literal('v4', result);
    const response = await fromAiSdk(model, { reasoning: 'high' }).generate(request);
    expect(response).toEqual({
      content: [
        { type: 'text', text: 'Hello' },
        {
          type: 'opaque',
          provider: 'acme.chat',
          data: { type: 'citations', citations: [{ source: { type: 'source', url: 'https://a.test' } }] },
        },
        { type: 'opaque', provider: 'acme.chat', data: result.content[1] },
        { type: 'file', mediaType: 'image/png', source: { type: 'url', url: 'https://a.test/p.png' } },
        { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AQID' } },
      ],
      finishReason: 'other',
      usage: {
        inputTokens: 10,
        outputTokens: 3,
        cachedInputTokens: 5,
        cacheWriteTokens: 1,
        reasoningTokens: 2,
      },
    });
    expect(model.calls[0]).toMatchObject({ reasoning: 'high' });
  });

  it('streams, pings and citations included', async () => {
    const model = literal('v4', result, [
      { type: 'text-start', id: '1' },
      { type: 'ping' },
      { type: 'text-delta', id: '1', delta: 'Hello' },
      { type: 'text-end', id: '1', citations: [{ source: {} }] },
      { type: 'finish', finishReason: { unified: 'stop' }, usage: {} },
    ]);
    expect((await collect(fromAiSdk(model).stream?.(request))).response).toEqual({
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'opaque', provider: 'acme.chat', data: { type: 'citations', citations: [{ source: {} }] } },
      ],
      finishReason: 'stop',
    });
  });
});

describe('what does not fit', () => {
  it('is refused by name', () => {
    const mock = new MockLanguageModelV3();
    expect(() => fromAiSdk(mock, { contextWindw: 5 } as object)).toThrow(/contextWindw/);
    expect(() => fromAiSdk(mock, { contextWindow: 0 })).toThrow(InvalidInputError);
    const future = { ...literal('v4', { content: [], finishReason: 'stop', usage: {}, warnings: [] }) };
    expect(() => fromAiSdk({ ...future, specificationVersion: 'v5' as 'v4' })).toThrow(CapabilityError);
    for (const none of ['openai/gpt-5', undefined, {}]) {
      const make = () => fromAiSdk(none as unknown as AiSdkLanguageModel);
      expect(make).toThrow(InvalidInputError);
      expect(make).toThrow(/must be a model of the AI SDK, not .*\. Create one with a provider's package/);
    }
  });
});

describe('the form of an answer', () => {
  const responseFormat = { type: 'json', schema: { type: 'object' }, name: 'final_answer' } as const;

  it('goes to the provider as it is', async () => {
    const mock = new MockLanguageModelV3({ doGenerate: v3Result });
    const model = fromAiSdk(mock, { structuredOutput: true });
    await model.generate({ ...request, responseFormat });
    expect(model.structuredOutput).toBe(true);
    expect(mock.doGenerateCalls[0]?.responseFormat).toEqual(responseFormat);
  });

  it('is not promised unless the options say so', async () => {
    const mock = new MockLanguageModelV3({ doGenerate: v3Result });
    const model = fromAiSdk(mock);
    await model.generate(request);
    expect(model.structuredOutput).toBe(false);
    expect(mock.doGenerateCalls[0]).not.toHaveProperty('responseFormat');
  });
});

describe('what a request says itself', () => {
  const tools = [{ name: 'look', description: '', inputSchema: { type: 'object' } }];
  const asked = {
    ...request,
    tools,
    toolChoice: { tool: 'look' },
    reasoningEffort: 'high',
    stopSequences: ['STOP'],
    providerOptions: { acme: { tier: 'fast' }, other: { a: 1 } },
  } as const;
  const result = { content: [], finishReason: 'stop', usage: {}, warnings: [] } as const;

  it('goes to the provider over what the model has, thought as an option of the provider’s before version 4', async () => {
    const mock = new MockLanguageModelV3({ doGenerate: v3Result, provider: 'anthropic.messages' });
    const options = { stopSequences: ['END'], providerOptions: { acme: { tier: 'slow', kept: true } } };
    await fromAiSdk(mock, options).generate(asked);
    expect(mock.doGenerateCalls[0]).toMatchObject({
      toolChoice: { type: 'tool', toolName: 'look' },
      stopSequences: ['STOP'],
      providerOptions: { acme: { tier: 'fast', kept: true }, other: { a: 1 }, anthropic: { effort: 'high' } },
    });
    const newer = literal('v4', result);
    await fromAiSdk(newer).generate({ ...asked, toolChoice: 'none' });
    expect(newer.calls[0]).toMatchObject({ toolChoice: { type: 'none' }, reasoning: 'high' });
    expect(newer.calls[0]?.providerOptions).toEqual(asked.providerOptions);
    await fromAiSdk(newer).generate({ ...request, toolChoice: 'required' });
    expect(newer.calls[1]).not.toHaveProperty('toolChoice');
  });

  it('is answered with the provider’s names of answer and model, streamed or not', async () => {
    const model = fromAiSdk(
      literal('v4', { ...result, response: { id: 'r-1', modelId: 'large-2' } }, [
        { type: 'response-metadata', id: 'r-2', modelId: 'large-3' },
        { type: 'finish', finishReason: 'stop', usage: {} },
      ]),
    );
    expect(await model.generate(request)).toMatchObject({ id: 'r-1', model: 'large-2' });
    const { response } = await collect(model.stream?.(request));
    expect(response).toMatchObject({ id: 'r-2', model: 'large-3' });
  });
});
