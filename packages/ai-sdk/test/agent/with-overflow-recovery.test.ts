import { APICallError, type LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { createCompactor } from '@x/compaction';
import { type CompactionOutcome, InMemorySession } from '@x/core';
import { generateText, type ModelMessage, streamText } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { beforeEach, expect, it } from 'vitest';
import { prepareStepWith, withOverflowRecovery } from '../../src/index.js';
import { rejection } from '../support/collect.js';
import { answer, partsOf, streamOf } from '../support/mock-model.js';

/** A provider's window, in characters of the prompt. */
const WINDOW = 20_000;
const tooLong = () =>
  new APICallError({
    message: 'prompt is too long: 213462 tokens > 200000 maximum',
    url: 'https://api.example',
    requestBodyValues: {},
    statusCode: 400,
    isRetryable: false,
  });
const fits = (prompt: unknown) => JSON.stringify(prompt).length <= WINDOW;

const history = (turns: number): ModelMessage[] => [
  { role: 'system', content: 'You help.' },
  ...Array.from({ length: turns }, (_, turn): ModelMessage[] => [
    { role: 'user', content: `Question ${turn}` },
    { role: 'assistant', content: `Answer ${turn}. ${'More of it. '.repeat(40)}` },
  ]).flat(),
  { role: 'user', content: 'The latest question' },
];
const newCompactor = () => createCompactor({ contextWindow: 200_000, keep: { messages: 6 } });
let compactor = newCompactor();
beforeEach(() => {
  compactor = newCompactor();
});

it.each(['doGenerate throws', 'doStream throws', 'a stream fails at once'])(
  'compacts and asks once more when %s',
  async (how) => {
    const outcomes: CompactionOutcome[] = [];
    const mock = new MockLanguageModelV3({
      doGenerate: async ({ prompt }) => {
        if (!fits(prompt)) throw tooLong();
        return answer('Fits.');
      },
      doStream: async ({ prompt }) => {
        if (fits(prompt)) return streamOf('Fits.');
        if (how === 'doStream throws') throw tooLong();
        return partsOf({ type: 'stream-start', warnings: [] }, { type: 'error', error: tooLong() });
      },
    });
    const model = withOverflowRecovery(mock, compactor, {
      onCompaction: (outcome) => void outcomes.push(outcome),
    });
    const messages = history(60);
    const ask = async (asked: ModelMessage[]) => {
      const call = { model, messages: asked, allowSystemInMessages: true, maxRetries: 0 } as const;
      return how === 'doGenerate throws' ? (await generateText(call)).text : await streamText(call).text;
    };
    const calls = () => [...mock.doGenerateCalls, ...mock.doStreamCalls];
    expect(await ask(messages)).toBe('Fits.');
    expect(outcomes.map(({ status }) => status)).toEqual(['applied']);
    expect(calls()).toHaveLength(2);
    expect(calls()[1]?.prompt[0]).toEqual({ role: 'system', content: 'You help.' });
    expect(JSON.stringify(calls()[1]?.prompt)).toContain('The latest question');

    // What grew out of it is sent reduced at once.
    expect(
      await ask([...messages, { role: 'assistant', content: 'Fits.' }, { role: 'user', content: 'On' }]),
    ).toBe('Fits.');
    expect(calls()).toHaveLength(3);
    const [, second, third] = calls().map(({ prompt }) => prompt.map((message) => JSON.stringify(message)));
    expect(third?.slice(0, second?.length)).toEqual(second);
  },
);

it.each(['doGenerate', 'doStream', 'a stream'])(
  'aims for the window that the error of %s names, if the compactor knows a larger one',
  async (how) => {
    const fitsSmall = (prompt: unknown) => JSON.stringify(prompt).length / 4 <= 8_000;
    const error = new APICallError({
      message: 'prompt is too long: 90000 tokens > 8000 maximum',
      url: 'https://api.example',
      requestBodyValues: {},
      statusCode: 400,
      isRetryable: false,
    });
    const mock = new MockLanguageModelV3({
      doGenerate: async ({ prompt }) => {
        if (!fitsSmall(prompt)) throw error;
        return answer('Fits.');
      },
      doStream: async ({ prompt }) => {
        if (fitsSmall(prompt)) return streamOf('Fits.');
        if (how === 'doStream') throw error;
        return partsOf({ type: 'stream-start', warnings: [] }, { type: 'error', error });
      },
    });
    const model = withOverflowRecovery(mock, createCompactor({ contextWindow: 200_000 }));
    const call = { model, messages: history(640), allowSystemInMessages: true, maxRetries: 0 } as const;
    const text = how === 'doGenerate' ? (await generateText(call)).text : await streamText(call).text;
    expect(text).toBe('Fits.');
    expect([...mock.doGenerateCalls, ...mock.doStreamCalls]).toHaveLength(2);
  },
);

/** Processes with one model and one store. Each call is the first one of its process. */
function processes() {
  const mock = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      if (!fits(prompt)) throw tooLong();
      return answer('Fits.');
    },
  });
  const store = new InMemorySession();
  const inNewProcess = (messages: ModelMessage[]) => {
    const model = withOverflowRecovery(mock, newCompactor(), { remember: { store, userId: 'alice' } });
    return generateText({ model, messages, allowSystemInMessages: true, maxRetries: 0 });
  };
  return { mock, inNewProcess };
}

it('sends reduced at once what another process reduced', async () => {
  const { mock, inNewProcess } = processes();
  const messages = history(60);
  await inNewProcess(messages);
  await inNewProcess([...messages, { role: 'assistant', content: 'Fits.' }, { role: 'user', content: 'On' }]);
  const prompts = mock.doGenerateCalls.map(({ prompt }) => prompt);
  expect(prompts.map(fits)).toEqual([false, true, true]);
  expect(prompts[2]?.slice(0, prompts[1]?.length)).toEqual(prompts[1]);
});

it('merges the summary of prepareStepWith, which is no request of the user', async () => {
  const prompts: string[] = [];
  const mock = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      prompts.push(JSON.stringify(prompt));
      // Between reductions of `prepareStepWith`, whose window is too large.
      if (JSON.stringify(prompt).length > 16_000) throw tooLong();
      return answer(`Answer. ${'More of it. '.repeat(40)}`);
    },
  });
  const small = createCompactor({ contextWindow: 6_000 });
  const model = withOverflowRecovery(mock, small);
  const prepareStep = prepareStepWith(small);
  const messages: ModelMessage[] = [];
  for (let turn = 0; turn < 60; turn++) {
    messages.push({ role: 'user', content: `Question ${turn}` });
    const { response } = await generateText({ model, messages, prepareStep, maxRetries: 0 });
    messages.push(...response.messages);
  }
  const summaries = prompts.map((prompt) => prompt.split('[CONVERSATION_SUMMARY]').length - 1);
  expect(prompts.filter((prompt, at) => prompt.length > 16_000 && summaries[at] === 1)).not.toHaveLength(0);
  expect(Math.max(...summaries)).toBe(1);
});

it('keeps the reductions of many chats with the same system prompt and first request', async () => {
  const { mock, inNewProcess } = processes();
  const chats = Array.from({ length: 25 }, (_, chat): ModelMessage[] => {
    const [system, first, , ...rest] = history(60) as [ModelMessage, ModelMessage, ...ModelMessage[]];
    return [system, first, { role: 'assistant', content: `Answer of chat ${chat}` }, ...rest];
  });
  for (const messages of chats) await inNewProcess(messages);
  const requests = mock.doGenerateCalls.length;
  for (const messages of chats) await inNewProcess(messages);
  expect(mock.doGenerateCalls.slice(requests).every(({ prompt }) => fits(prompt))).toBe(true);
});

it('passes the error on when the second request fails too, or nothing can be reduced', async () => {
  const mock = new MockLanguageModelV3({
    doGenerate: async () => {
      throw tooLong();
    },
  });
  const model = withOverflowRecovery(mock, compactor);
  const call = (messages: ModelMessage[]) =>
    rejection(generateText({ model, messages, allowSystemInMessages: true, maxRetries: 0 }));
  expect(String(await call(history(60)))).toContain('prompt is too long');
  expect(mock.doGenerateCalls).toHaveLength(2);
  expect(String(await call([{ role: 'user', content: 'Hi' }]))).toContain('prompt is too long');
  expect(mock.doGenerateCalls).toHaveLength(3);
});

it('refuses the name of a model', () => {
  const given = 'openai/gpt-5' as never;
  expect(() => withOverflowRecovery(given, createCompactor())).toThrow(
    'must be a model of the AI SDK, not "openai/gpt-5"',
  );
});

it('takes no other error for an overflow', async () => {
  const limited = new APICallError({
    message: 'Limit 30000 tokens per min (TPM)',
    url: 'https://api.example',
    requestBodyValues: {},
    statusCode: 429,
    isRetryable: false,
  });
  const mock = new MockLanguageModelV3({
    doGenerate: async () => {
      throw limited;
    },
    doStream: partsOf(
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Half' },
      { type: 'error', error: tooLong() },
    ),
  });
  const model = withOverflowRecovery(mock, compactor);
  expect(String(await rejection(generateText({ model, prompt: 'Hi', maxRetries: 0 })))).toContain('TPM');
  expect(mock.doGenerateCalls).toHaveLength(1);
  const stream = streamText({ model, messages: history(60), allowSystemInMessages: true, onError: () => {} });
  const types: string[] = [];
  for await (const { type } of stream.fullStream) types.push(type);
  expect(types).toEqual(expect.arrayContaining(['text-delta', 'error']));
  expect(mock.doStreamCalls).toHaveLength(1);
});

it('recovers from a window that ran full without an error', async () => {
  const full = {
    ...answer(''),
    content: [],
    finishReason: { unified: 'length', raw: 'model_context_window_exceeded' },
  } as const;
  const mock = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => (fits(prompt) ? answer('Fits.') : { ...full, content: [] }),
  });
  const model = withOverflowRecovery(mock, compactor);
  expect((await generateText({ model, messages: history(60), allowSystemInMessages: true })).text).toBe(
    'Fits.',
  );
});

it('is the model in everything else', async () => {
  const mock = new MockLanguageModelV3({
    provider: 'acme',
    modelId: 'large',
    supportedUrls: { 'image/*': [/x/] },
  });
  const model = withOverflowRecovery(mock, compactor);
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  expect({ specificationVersion, provider, modelId, supportedUrls: await supportedUrls }).toEqual({
    specificationVersion: 'v3',
    provider: 'acme',
    modelId: 'large',
    supportedUrls: { 'image/*': [/x/] },
  });
});

it('hands a stream over at once, and passes on what comes before its content', async () => {
  let controller: ReadableStreamDefaultController<LanguageModelV3StreamPart> | undefined;
  const silent = new ReadableStream<LanguageModelV3StreamPart>({
    start(given) {
      controller = given;
      given.enqueue({ type: 'stream-start', warnings: [] });
    },
  });
  const mock = new MockLanguageModelV3({
    doStream: async () => ({ stream: silent, request: { body: 'sent' } }),
  });
  const result = await withOverflowRecovery(mock, compactor).doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
  expect(result.request).toEqual({ body: 'sent' });
  const reader = result.stream.getReader();
  expect((await reader.read()).value?.type).toBe('stream-start');
  controller?.enqueue({ type: 'text-start', id: '1' });
  expect((await reader.read()).value?.type).toBe('text-start');
});

it.each([
  ['no overflow', new Error('down'), 60, false],
  ['an overflow that nothing helps', tooLong(), 0, false],
  ['its own failure, no overflow', new Error('down'), 60, true],
  ['its own failure, an overflow that nothing helps', tooLong(), 0, true],
])('tells of %s in the stream exactly as the model alone does', async (_, error, turns, fails) => {
  const told = async (wrapped: boolean) => {
    const mock = new MockLanguageModelV3({
      doStream: async () =>
        fails
          ? { stream: new ReadableStream({ start: (controller) => controller.error(error) }) }
          : partsOf({ type: 'stream-start', warnings: [] }, { type: 'error', error }),
    });
    const errors: unknown[] = [];
    const stream = streamText({
      model: wrapped ? withOverflowRecovery(mock, compactor) : mock,
      messages: history(turns),
      allowSystemInMessages: true,
      maxRetries: 0,
      onError: (event) => void errors.push(event.error),
    });
    const types: string[] = [];
    const read = async () => {
      for await (const { type } of stream.fullStream) types.push(type);
    };
    errors.push(await read().catch((failure: unknown) => failure));
    return { types, errors, text: await stream.text.then(String, String) };
  };
  expect(await told(true)).toEqual(await told(false));
});

const FITS = ['text-start', 'text-delta', 'text-end', 'finish'];
const start: LanguageModelV3StreamPart = { type: 'stream-start', warnings: [] };
it.each<[string, () => ReadableStream<LanguageModelV3StreamPart>, readonly string[]]>([
  [
    'an error part',
    () => partsOf(start, { type: 'error', error: tooLong() }).stream,
    ['stream-start', ...FITS],
  ],
  [
    'a stream that fails itself',
    () => new ReadableStream({ start: (controller) => controller.error(tooLong()) }),
    FITS,
  ],
  [
    'an error part behind an empty reasoning',
    () =>
      partsOf(
        start,
        { type: 'reasoning-start', id: '1', providerMetadata: { openai: { itemId: 'rs_1' } } },
        { type: 'error', error: tooLong() },
      ).stream,
    ['stream-start', 'reasoning-start', 'reasoning-end', ...FITS],
  ],
])('begins a stream once that is recovered from %s', async (_, overflowing, expected) => {
  const mock = new MockLanguageModelV3({
    doStream: async ({ prompt }) => (fits(prompt) ? streamOf('Fits.') : { stream: overflowing() }),
  });
  const model = withOverflowRecovery(mock, compactor);
  const { stream } = await model.doStream({
    prompt: history(60).map((message) => ({
      ...message,
      content: [{ type: 'text', text: String(message.content) }],
    })) as never,
  });
  const types: string[] = [];
  for await (const part of stream) types.push(part.type);
  // The second stream's preamble is left out, where the first one had one and where it had none.
  expect(types).toEqual(expected);
  expect(mock.doStreamCalls).toHaveLength(2);
  const streamed = streamText({ model, messages: history(60), allowSystemInMessages: true });
  // Nothing of the answer that was given up is said to the provider again.
  expect(JSON.stringify((await streamed.response).messages)).not.toContain('rs_1');
  expect(await streamed.text).toBe('Fits.');
});

it.each([undefined, {}])('passes on an answer that is none: %o', async (nothing) => {
  const model = new MockLanguageModelV3({
    doGenerate: (async () => nothing) as never,
    doStream: (async () => nothing) as never,
  });
  const wrapped = withOverflowRecovery(model, createCompactor({ contextWindow: 10_000 }));
  expect(await wrapped.doGenerate({ prompt: [] })).toBe(nothing);
  expect(await wrapped.doStream({ prompt: [] })).toBe(nothing);
});

it('ends the compaction of a reader who leaves', async () => {
  const mock = new MockLanguageModelV3({
    doStream: async () => partsOf({ type: 'error', error: tooLong() }),
  });
  const signals: AbortSignal[] = [];
  let begun = () => {};
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const model = withOverflowRecovery(mock, {
    ...compactor,
    compact: (_, { signal } = {}) =>
      new Promise((_, reject) => {
        signals.push(signal as AbortSignal);
        signal?.addEventListener('abort', () => reject(signal.reason));
        begun();
      }),
  });
  const { stream } = await model.doStream({ prompt: [] });
  const reader = stream.getReader();
  const read = reader.read();
  await isBegun;
  await reader.cancel();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(await read).toEqual({ done: true, value: undefined });
  expect(mock.doStreamCalls).toHaveLength(1);
});

it.each(['doGenerate', 'doStream'] as const)(
  'tells what the provider said where the compactor fails: %s',
  async (method) => {
    const warned: string[] = [];
    const onWarning = ({ message }: Error) => void warned.push(message);
    process.on('warning', onWarning);
    const overflow = tooLong();
    const mock = new MockLanguageModelV3({
      doGenerate: () => Promise.reject(overflow),
      doStream: () => Promise.reject(overflow),
    });
    const failing = { ...compactor, compact: () => Promise.reject(new Error('compactor down')) };
    const call = withOverflowRecovery(mock, failing)[method]({ prompt: [] });
    expect(await rejection(Promise.resolve<unknown>(call))).toBe(overflow);
    await new Promise(setImmediate);
    process.off('warning', onWarning);
    expect(warned.join()).toContain('compactor down');
  },
);

it('tells of a second request that fails as of the one that counts', async () => {
  let calls = 0;
  const mock = new MockLanguageModelV3({
    doStream: async () => {
      if (++calls === 2) throw new Error('Slow down');
      return partsOf({ type: 'error', error: tooLong() });
    },
  });
  const errors: unknown[] = [];
  await streamText({
    model: withOverflowRecovery(mock, compactor),
    messages: history(60),
    allowSystemInMessages: true,
    onError: ({ error }) => void errors.push(error),
  }).consumeStream();
  expect(errors).toEqual([expect.objectContaining({ message: 'Slow down' })]);
});
