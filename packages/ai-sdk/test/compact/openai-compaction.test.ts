import { createOpenAI } from '@ai-sdk/openai';
import { createCompactor } from '@x/compaction';
import {
  assistantMessage,
  CapabilityError,
  type Message,
  ModelError,
  toolResultMessage,
  userMessage,
} from '@x/core';
import type { NativeCompaction } from '@x/core/messages';
import { expect, it } from 'vitest';
import { fromAiSdk, openaiCompaction } from '../../src/index.js';
import { openaiAnswer, openaiText } from '../support/answers.js';
import { collect, rejection } from '../support/collect.js';
import { type Answer, modelServer } from '../support/model-server.js';

const ENCRYPTED = `gAAAAA${'B-x_9='.repeat(40)}\u2028"\\`;
const OUTPUT = [
  {
    id: 'msg_1',
    type: 'message',
    status: 'completed',
    role: 'user',
    content: [{ type: 'input_text', text: 'Weather?' }],
  },
  { id: 'cmp_1', type: 'compaction', encrypted_content: ENCRYPTED, created_by: 'later-field' },
];
const USAGE = {
  input_tokens: 900,
  input_tokens_details: { cached_tokens: 500 },
  output_tokens: 120,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 1_020,
};
const COMPACTED: Answer = {
  json: { id: 'resp_9', object: 'response.compaction', created_at: 1, output: OUTPUT, usage: USAGE },
};
const ANSWERED = openaiAnswer([openaiText('Sunny.', { id: 'msg_2' })], { usage: USAGE });
const STREAMED: Answer = {
  events: [
    { type: 'response.created', response: { id: 'resp_1', created_at: 1, model: 'gpt-5' } },
    {
      type: 'response.completed',
      response: { id: 'resp_1', incomplete_details: null, usage: USAGE },
    },
  ],
};
const call = { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Bern' } } as const;
const older = [
  userMessage('Weather?'),
  assistantMessage([call]),
  toolResultMessage(call, 'Sunny'),
  assistantMessage('It is sunny.'),
];
const tool = { name: 'get_weather', description: 'Weather', inputSchema: { type: 'object' } };

/** As a compactor stores it: the record, the items, what is carried over. Read back from a store. */
function summaryOf(compacted: NativeCompaction | undefined): Message {
  const [record, carried] = ['It was sunny.', 'Todos: none'].map((text) => ({ type: 'text', text }) as const);
  const content = [record, ...(compacted?.content ?? []), carried].filter((block) => block !== undefined);
  return JSON.parse(JSON.stringify(userMessage(content, { kind: 'summary' }))) as Message;
}

async function connect(...answers: readonly Answer[]) {
  const server = await modelServer(...answers);
  const compact = openaiCompaction();
  const openai = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'secret', fetch: compact.fetch });
  const options = { openai: { store: false } };
  const model = fromAiSdk(openai('gpt-5'), { contextWindow: 400_000, compact, providerOptions: options });
  return { server, model };
}

it('asks the endpoint for compactions and sends its items back byte for byte', async () => {
  const { server, model } = await connect(COMPACTED, ANSWERED, STREAMED, COMPACTED);
  const compacted = await model.compact?.({ system: 'Be brief.', messages: older, tools: [tool] });
  expect(server.requests[0]).toMatchObject({
    url: '/v1/responses/compact',
    headers: { authorization: 'Bearer secret' },
  });
  expect(server.requests[0]?.headers['x-compaction-call']).toBeUndefined();
  expect(Object.keys(server.bodies[0] ?? {}).sort()).toEqual(['input', 'instructions', 'model']);
  expect(server.bodies[0]).toMatchObject({
    model: 'gpt-5',
    instructions: 'Be brief.',
    input: [
      { role: 'user' },
      { type: 'function_call', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' },
      { role: 'assistant' },
    ],
  });
  expect(compacted?.usage).toMatchObject({ inputTokens: 900, outputTokens: 120, cachedInputTokens: 500 });
  // What it wrote, without its reasoning, and the request that it repeats.
  const [block] = compacted?.content ?? [];
  expect(block?.tokens).toBeGreaterThan(100);
  expect(block?.tokens).toBeLessThan(150);

  const messages = [...older.slice(0, 1), summaryOf(compacted), userMessage('And tomorrow?')];
  const request = { system: 'Be brief.', messages, tools: [tool] };
  await model.generate(request);
  await collect(model.stream?.(request));
  await model.compact?.(request);
  for (const body of server.bodies.slice(1, 3)) {
    const [system, ...input] = body.input as readonly object[];
    expect(system).toMatchObject({ role: 'developer', content: 'Be brief.' });
    expect(JSON.stringify(input.slice(0, 2))).toBe(JSON.stringify(OUTPUT));
    expect(input.slice(2)).toEqual([
      { role: 'user', content: [{ type: 'input_text', text: 'Todos: none' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'And tomorrow?' }] },
    ]);
  }
  const again = server.bodies[3]?.input as readonly object[];
  expect(JSON.stringify(again.slice(0, 2))).toBe(JSON.stringify(OUTPUT));
  expect(server.requests.map(({ url }) => url)).toEqual([
    '/v1/responses/compact',
    '/v1/responses',
    '/v1/responses',
    '/v1/responses/compact',
  ]);
});

it('serves the strategy native of a compactor', async () => {
  const { server, model } = await connect(COMPACTED);
  const messages = Array.from({ length: 30 }, (_, turn) => [
    userMessage(`Question ${turn}`),
    assistantMessage(`A long answer. ${'It goes on. '.repeat(40)}`),
  ]).flat();
  const compactor = createCompactor({ model, stages: ['native', 'drop_oldest'], keep: { messages: 4 } });
  const outcome = await compactor.compact(messages);
  expect(outcome).toMatchObject({ status: 'applied', message: 'reduced by native' });
  const summary = outcome.messages.find(({ kind }) => kind === 'summary');
  expect(summary?.content).toMatchObject([
    { type: 'text', text: expect.stringContaining('Question 0') },
    { type: 'opaque', provider: 'openai.responses', data: { type: 'compacted', items: OUTPUT } },
  ]);
  expect(outcome.messages.slice(-4)).toEqual(messages.slice(-4));
  expect(server.bodies[0]?.input).toHaveLength(56);
});

it('keeps what users write apart from items', async () => {
  const { server, model } = await connect(ANSWERED);
  const text = `3f0e:${JSON.stringify(OUTPUT)}`;
  await model.generate({ messages: [userMessage(text)], tools: [] });
  expect(server.bodies[0]?.input).toEqual([{ role: 'user', content: [{ type: 'input_text', text }] }]);
});

it('fails as a call of the model fails', async () => {
  const { model } = await connect(
    {
      status: 429,
      headers: { 'retry-after': '7' },
      json: { error: { message: 'Slow down', code: 'rate_limit' } },
    },
    { json: { id: 'resp_9', object: 'response.compaction', created_at: 1, output: [], usage: USAGE } },
    { json: { object: 'response.compaction', output: [OUTPUT[0], { type: 'compaction' }], usage: USAGE } },
  );
  const request = { messages: older, tools: [] };
  const [limited, empty, hollow] = [
    await rejection(model.compact?.(request) ?? Promise.resolve()),
    await rejection(model.compact?.(request) ?? Promise.resolve()),
    await rejection(model.compact?.(request) ?? Promise.resolve()),
  ];
  expect(limited).toMatchObject({ status: 429, retryable: true, retryAfterMs: 7_000 });
  expect(ModelError.isInstance(empty)).toBe(true);
  expect(String(empty)).toContain('returned no compaction');
  expect(String(hollow)).toContain('returned no compaction');
});

it('tells when the provider does not call through it', async () => {
  const server = await modelServer(ANSWERED);
  const openai = createOpenAI({ baseURL: server.url, apiKey: 'key' });
  const model = fromAiSdk(openai('gpt-5'), { compact: openaiCompaction() });
  const failure = await rejection(model.compact?.({ messages: older, tools: [] }) ?? Promise.resolve());
  expect(CapabilityError.isInstance(failure)).toBe(true);
  expect(String(failure)).toContain('createOpenAI({ fetch: compact.fetch })');
  expect(() => fromAiSdk(openai.chat('gpt-5'), { compact: openaiCompaction() })).toThrow(CapabilityError);
});

it('gives the record to whoever cannot read the items', async () => {
  const { model } = await connect(COMPACTED);
  const compacted = await model.compact?.({ messages: older, tools: [] });
  const server = await modelServer(ANSWERED);
  const plain = fromAiSdk(createOpenAI({ baseURL: server.url, apiKey: 'key' })('gpt-5'));
  await plain.generate({ messages: [...older.slice(0, 1), summaryOf(compacted)], tools: [] });
  expect(server.bodies[0]?.input).toEqual([
    { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'It was sunny.' },
        { type: 'input_text', text: 'Todos: none' },
      ],
    },
  ]);
});

it('asks by a trigger where there is no endpoint, and sends the request again behind the item', async () => {
  const server = await modelServer(
    { json: { ...(ANSWERED.json as object), output: OUTPUT.slice(1) } },
    ANSWERED,
  );
  const compact = openaiCompaction({ via: 'trigger' });
  const openai = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'secret', fetch: compact.fetch });
  const model = fromAiSdk(openai('gpt-5'), { compact });
  const compacted = await model.compact?.({ messages: older, tools: [tool], instructions: 'the city' });
  expect(server.requests[0]?.url).toBe('/v1/responses');
  const asked = server.bodies[0]?.input as readonly object[] | undefined;
  expect(asked?.at(-1)).toEqual({ type: 'compaction_trigger' });
  expect(server.bodies[0]?.instructions).toContain('the city');
  await model.generate({ messages: [...older.slice(0, 1), summaryOf(compacted)], tools: [] });
  expect(server.bodies[1]?.input).toEqual([
    OUTPUT[1],
    { role: 'user', content: [{ type: 'input_text', text: 'Todos: none' }] },
    { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
  ]);
});

it('posts to the endpoint of a resource of Azure', async () => {
  const server = await modelServer(COMPACTED);
  const compact = openaiCompaction();
  const url = `${server.url}/openai/v1/responses?api-version=v1`;
  const send = (_: unknown, init?: RequestInit) => compact.fetch(url, init);
  const model = createOpenAI({ apiKey: 'key', fetch: send as typeof fetch })('gpt-5');
  const azure = { ...model, provider: 'azure.responses', doGenerate: model.doGenerate.bind(model) };
  await fromAiSdk(azure as never, { compact }).compact?.({ messages: older, tools: [] });
  expect(server.requests[0]?.url).toBe('/openai/v1/responses/compact?api-version=v1');
});

it('has the server compact within answers alone, and leaves other requests and headers as they are', async () => {
  const sent: unknown[] = [];
  const { fetch } = openaiCompaction({
    threshold: 1_000,
    fetch: async (_, init) => {
      sent.push(JSON.parse(String(init?.body)));
      return Response.json({ output: [] }, { headers: { 'x-request-id': 'r-1' } });
    },
  });
  const post = (path: string, body: object) =>
    fetch(`https://api.openai.com/v1/${path}`, { method: 'POST', body: JSON.stringify(body) });
  const embeddings = { model: 'e', input: ['hello', 'world'] };
  await post('embeddings', embeddings);
  await post('chat/completions', { messages: [] });
  const answer = await post('responses', { input: 'What I ask' });
  expect(sent).toEqual([embeddings, { messages: [] }, expect.objectContaining({ input: 'What I ask' })]);
  expect(sent[2]).toHaveProperty('context_management');
  expect(answer.headers.get('x-request-id')).toBe('r-1');
});
