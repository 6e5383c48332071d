import { ContextOverflowError, type Model, type ModelRequest, type ModelResponse } from '@x/core';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { expect, it } from 'vitest';
import { toAiSdk } from '../src/index.js';

const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reasoningTokens: 2 };
const call = { type: 'tool_use', id: 'c1', name: 'read', input: { path: 'a.ts' } } as const;
const signed = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' } as const;
const found = { type: 'opaque', provider: 'mine', data: { found: [1] } } as const;
const first: ModelResponse = {
  content: [signed, found, { type: 'text', text: 'Reading. ' }, call],
  finishReason: 'tool-calls',
  usage,
};
const last: ModelResponse = {
  content: [{ type: 'text', text: 'Done.' }],
  finishReason: 'stop',
  usage,
  id: 'r2',
};

/** A model that gives its answers in turn, streamed by words. */
function scripted(streams: boolean, ...answers: ModelResponse[]) {
  const requests: ModelRequest[] = [];
  const next = (request: ModelRequest) => {
    requests.push(request);
    return answers.shift() as ModelResponse;
  };
  const model: Model = {
    id: 'mine',
    generate: async (request) => next(request),
    ...(streams && {
      async *stream(request: ModelRequest) {
        const response = next(request);
        for (const block of response.content) {
          if (block.type === 'thinking') yield { type: 'thinking-delta' as const, text: block.thinking };
          for (const text of block.type === 'text' ? block.text.split(/(?<= )/) : [])
            yield { type: 'text-delta' as const, text };
          if (block.type === 'tool_use') {
            const { id, name, input } = block;
            yield { type: 'tool-call-delta' as const, id, name, inputDelta: JSON.stringify(input) };
          }
        }
        yield { type: 'response' as const, response };
      },
    }),
  };
  return { model, requests };
}

const settings = {
  system: 'Be brief.',
  prompt: 'Read it',
  tools: {
    read: tool({
      description: 'Reads',
      inputSchema: jsonSchema<{ path: string }>({ type: 'object', properties: { path: { type: 'string' } } }),
      execute: async ({ path }) => `content of ${path}`,
    }),
  },
  stopWhen: stepCountIs(3),
  maxOutputTokens: 100,
  maxRetries: 0,
};

it.each([
  ['generateText', false],
  ['streamText over a model that streams', true],
  ['streamText over one that does not', false],
] as const)('carries an agent of the SDK, by %s', async (how, streams) => {
  const { model, requests } = scripted(streams, first, last);
  const sdk = toAiSdk(model);
  if (how === 'generateText') {
    const { text, totalUsage } = await generateText({ model: sdk, ...settings });
    expect([text, totalUsage.inputTokens, totalUsage.inputTokenDetails.cacheReadTokens]).toEqual([
      'Done.',
      20,
      8,
    ]);
  } else {
    const result = streamText({ model: sdk, ...settings });
    let text = '';
    for await (const delta of result.textStream) text += delta;
    expect(text).toBe('Reading. Done.');
    expect((await result.totalUsage).outputTokens).toBe(10);
  }
  expect(requests[0]).toMatchObject({ system: 'Be brief.', maxOutputTokens: 100, tools: [{ name: 'read' }] });
  const [, answer, result] = (requests[1] as ModelRequest).messages;
  expect(answer?.content).toEqual(first.content);
  expect(result?.content).toMatchObject([
    { type: 'tool_result', toolUseId: 'c1', output: [{ type: 'text', text: 'content of a.ts' }] },
  ]);
});

it('reads what the application changed in an answer, and not what stood there', async () => {
  const { model, requests } = scripted(true, first, last);
  const result = streamText({ model: toAiSdk(model), ...settings, stopWhen: stepCountIs(1) });
  await result.consumeStream();
  const { messages } = await result.response;
  const [said, ...results] = messages;
  const parts = ((said?.content ?? []) as { text?: string }[]).map((part) =>
    part.text === 'Hm.' ? { ...part, text: '[redacted]' } : part,
  );
  const redacted = [{ ...said, content: parts } as (typeof messages)[number], ...results];
  await generateText({
    model: toAiSdk(model),
    messages: [{ role: 'user', content: 'Read it' }, ...redacted],
  });
  const [, answer] = (requests[1] as ModelRequest).messages;
  expect(JSON.stringify(answer)).not.toContain('Hm.');
  expect(answer?.content).toContainEqual(expect.objectContaining({ thinking: '[redacted]' }));
});

it('warns of what a model has no place for, and passes on its errors', async () => {
  const { model } = scripted(false, last);
  const { warnings } = await generateText({ model: toAiSdk(model), prompt: 'Hi', topK: 3, seed: 1 });
  expect(warnings).toMatchObject([{ feature: 'topK' }, { feature: 'seed' }]);
  const full = new ContextOverflowError('The request does not fit.', { modelId: 'mine' });
  const failing = toAiSdk({ id: 'mine', generate: () => Promise.reject(full) });
  await expect(generateText({ model: failing, prompt: 'Hi', maxRetries: 0 })).rejects.toBe(full);
});

it('ends the call of a reader who leaves', async () => {
  let ended = false;
  const model: Model = {
    id: 'mine',
    generate: async () => last,
    async *stream() {
      try {
        for (;;) yield { type: 'text-delta' as const, text: 'on ' };
      } finally {
        ended = true;
      }
    },
  };
  const { stream } = await toAiSdk(model).doStream({ prompt: [] });
  const reader = stream.getReader();
  for (let parts = 0; parts < 5; parts++) await reader.read();
  await reader.cancel();
  await expect.poll(() => ended).toBe(true);
});

async function all(stream: unknown): Promise<unknown[]> {
  const parts: unknown[] = [];
  for await (const part of stream as AsyncIterable<unknown>) parts.push(part);
  return parts;
}

it('tells of a stream that fails as providers do, after what was said, and throws for an abort alone', async () => {
  const failing = (error?: Error): Model => ({
    id: 'mine',
    generate: async () => last,
    async *stream() {
      yield { type: 'text-delta', text: 'Half' };
      if (error) throw error;
    },
  });
  const error = new Error('cut');
  const { stream } = await toAiSdk(failing(error)).doStream({ prompt: [] });
  expect(await all(stream)).toMatchObject([
    { type: 'stream-start' },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', delta: 'Half' },
    { type: 'error', error },
    { type: 'text-end', id: '1' },
    { type: 'response-metadata' },
    { type: 'finish', finishReason: { unified: 'error' } },
  ]);
  const told: unknown[] = [];
  const result = streamText({
    model: toAiSdk(failing()),
    prompt: 'Hi',
    onError: (event) => void told.push(event.error),
  });
  expect([await result.text, await result.finishReason]).toEqual(['Half', 'error']);
  expect(told).toMatchObject([{ name: 'ModelError', retryable: true }]);
  const abort = new AbortController();
  const aborted = await toAiSdk(failing(error)).doStream({ prompt: [], abortSignal: abort.signal });
  abort.abort();
  await expect(all(aborted.stream)).rejects.toBe(error);
});

it('carries what a model has a place for, and warns of the rest', async () => {
  const { model, requests } = scripted(false, last, last);
  const sdk = toAiSdk(model);
  const format = { type: 'json', schema: { type: 'object' }, name: 'n', description: 'd' } as const;
  const options = { mine: { cached: true } };
  await sdk.doGenerate({
    prompt: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
        providerOptions: options,
      },
    ] as never,
    responseFormat: format,
    headers: { 'user-agent': 'ai/6' },
  });
  expect(requests[0]).toMatchObject({
    responseFormat: format,
    messages: [{ content: [{ text: 'a', providerMetadata: undefined }, { providerMetadata: options }] }],
  });
  const { warnings } = await sdk.doGenerate({
    prompt: [],
    responseFormat: { type: 'json' },
    headers: { 'x-team': 'a' },
    includeRawChunks: true,
    tools: [
      {
        type: 'function',
        name: 'read',
        inputSchema: {},
        strict: true,
        inputExamples: [],
        providerOptions: options,
      },
    ],
  });
  expect(warnings.map(({ feature }) => feature)).toEqual([
    'headers',
    'includeRawChunks',
    'strict of tool read',
    'inputExamples of tool read',
    'providerOptions of tool read',
    'responseFormat',
  ]);
});
