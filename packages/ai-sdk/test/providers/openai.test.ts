import { createOpenAI } from '@ai-sdk/openai';
import {
  assistantMessage,
  ContextOverflowError,
  type Message,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { describe, expect, it } from 'vitest';
import { fromAiSdk } from '../../src/index.js';
import { openaiAnswer, openaiText } from '../support/answers.js';
import { collect, rejection } from '../support/collect.js';
import { type Answer, modelServer } from '../support/model-server.js';

const ENCRYPTED = `gAAAA${'Zk3_-x'.repeat(50)}`;
const reasoning = {
  id: 'rs_1',
  type: 'reasoning',
  encrypted_content: ENCRYPTED,
  summary: [{ type: 'summary_text', text: 'Weather, then.' }],
};
const functionCall = {
  id: 'fc_1',
  type: 'function_call',
  call_id: 'call_1',
  name: 'get_weather',
  arguments: '{"city":"Bern"}',
  status: 'completed',
};
const weather = { name: 'get_weather', description: 'Weather', inputSchema: { type: 'object' } };

async function connect(...answers: readonly Answer[]) {
  const server = await modelServer(...answers);
  const openai = createOpenAI({ baseURL: server.url, apiKey: 'key' });
  const options = { openai: { store: false, include: ['reasoning.encrypted_content'] } };
  return { server, model: fromAiSdk(openai('gpt-5'), { contextWindow: 400_000, providerOptions: options }) };
}

const usage = {
  input_tokens: 50,
  input_tokens_details: { cached_tokens: 32 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 12 },
  total_tokens: 70,
};
const answered = (output: readonly object[]) => openaiAnswer(output, { usage });
const text = openaiText('Sunny.');

const streamed = [
  { type: 'response.created', response: { id: 'resp_1', created_at: 1, model: 'gpt-5' } },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { id: 'rs_1', type: 'reasoning', encrypted_content: 'early', summary: [] },
  },
  { type: 'response.reasoning_summary_part.added', item_id: 'rs_1', output_index: 0, summary_index: 0 },
  {
    type: 'response.reasoning_summary_text.delta',
    item_id: 'rs_1',
    output_index: 0,
    summary_index: 0,
    delta: 'Weather, then.',
  },
  { type: 'response.reasoning_summary_part.done', item_id: 'rs_1', output_index: 0, summary_index: 0 },
  { type: 'response.output_item.done', output_index: 0, item: reasoning },
  {
    type: 'response.output_item.added',
    output_index: 1,
    item: { ...functionCall, arguments: '', status: 'in_progress' },
  },
  { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '{"city":' },
  { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '"Bern"}' },
  { type: 'response.output_item.done', output_index: 1, item: functionCall },
  { type: 'response.completed', response: { ...(answered([]).json as object), output: undefined } },
];

describe('OpenAI Responses', () => {
  it.each([
    ['generate', answered([reasoning, functionCall])],
    ['stream', { events: streamed }],
  ])('gives encrypted reasoning back byte for byte after %s', async (how, answer) => {
    const { server, model } = await connect(answer, answered([text]));
    const user = userMessage('Weather in Bern?');
    const request = { messages: [user], tools: [weather] };
    const first =
      how === 'stream' ? (await collect(model.stream?.(request))).response : await model.generate(request);
    expect(first).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Weather, then.', providerMetadata: { openai: { itemId: 'rs_1' } } },
        {
          type: 'tool_use',
          id: 'call_1',
          input: { city: 'Bern' },
          providerMetadata: { openai: { itemId: 'fc_1' } },
        },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 50, outputTokens: 20, cachedInputTokens: 32, reasoningTokens: 12 },
      providerMetadata: { openai: { responseId: 'resp_1' } },
    });

    const stored = JSON.parse(JSON.stringify(assistantMessage(first.content))) as Message;
    const result = toolResultMessage({ id: 'call_1', name: 'get_weather' }, 'Sunny');
    const second = await model.generate({ messages: [user, stored, result], tools: [weather] });
    expect(second.content).toMatchObject([{ type: 'text', text: 'Sunny.' }]);
    expect(server.bodies[1]?.input).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', id: 'rs_1', encrypted_content: ENCRYPTED, summary: reasoning.summary },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Bern"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' },
    ]);
  });

  it('rejects a stream that ends before the answer, wherever it ends', async () => {
    const { model } = await connect(...streamed.map((_, count) => ({ events: streamed.slice(0, count) })));
    const request = { messages: [userMessage('Hi')], tools: [weather] };
    for (const _ of streamed) {
      expect(await rejection(collect(model.stream?.(request)))).toMatchObject({
        code: 'model_error',
        retryable: true,
        message: expect.stringContaining('ended before the answer was complete'),
      });
    }
  });

  it('recognizes an overflow in an answer and in a stream', async () => {
    const error = {
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
      message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
      param: 'input',
    };
    const { model } = await connect(
      { status: 400, json: { error } },
      { events: [{ type: 'error', sequence_number: 1, error }] },
      { events: [...streamed.slice(0, 4), { type: 'error', sequence_number: 5, error }] },
    );
    const request = { messages: [userMessage('Hi')], tools: [] };
    const failures = [
      await rejection(model.generate(request)),
      await rejection(collect(model.stream?.(request))),
      await rejection(collect(model.stream?.(request))),
    ];
    expect(failures.map((failure) => ContextOverflowError.isInstance(failure))).toEqual([true, true, true]);
  });

  it.each([
    [
      'shell',
      { type: 'provider', id: 'openai.shell', name: 'shell', args: {} },
      {
        type: 'shell_call',
        id: 'sh_1',
        call_id: 'call_1',
        status: 'completed',
        action: { commands: ['ls'] },
      },
      {
        type: 'shell_call_output',
        call_id: 'call_1',
        output: [{ stdout: 'a.ts', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
    ],
    [
      'apply_patch',
      { type: 'provider', id: 'openai.apply_patch', name: 'apply_patch', args: {} },
      {
        type: 'apply_patch_call',
        id: 'ap_1',
        call_id: 'call_1',
        status: 'completed',
        operation: { type: 'delete_file', path: 'a.ts' },
      },
      { type: 'apply_patch_call_output', call_id: 'call_1', status: 'completed', output: 'a.ts' },
    ],
    [
      'local_shell',
      { type: 'provider', id: 'openai.local_shell', name: 'local_shell', args: {} },
      {
        type: 'local_shell_call',
        id: 'ls_1',
        call_id: 'call_1',
        status: 'completed',
        action: { type: 'exec', command: ['ls'] },
      },
      { type: 'local_shell_call_output', call_id: 'call_1', output: 'a.ts' },
    ],
    [
      'tool_search',
      { type: 'provider', id: 'openai.tool_search', name: 'tool_search', args: { execution: 'client' } },
      {
        type: 'tool_search_call',
        id: 'ts_1',
        call_id: 'call_1',
        execution: 'client',
        status: 'completed',
        arguments: { query: 'files' },
      },
      {
        type: 'tool_search_output',
        execution: 'client',
        call_id: 'call_1',
        status: 'completed',
        tools: [{ type: 'function', name: 'read', parameters: {} }],
      },
      JSON.stringify({ tools: [{ type: 'function', name: 'read', parameters: {} }] }),
    ],
  ])(
    'takes the text that a tool answered to a call of %s in the provider’s own form',
    async (name, tool, call, output, answer = 'a.ts') => {
      const server = await modelServer(answered([call]), answered([text]));
      const openai = createOpenAI({ baseURL: server.url, apiKey: 'key' });
      const model = fromAiSdk(openai('gpt-5'), { providerTools: [tool] });
      const asked = [userMessage('Look')];
      const { content } = await model.generate({ messages: asked, tools: [] });
      const use = content.find((block) => block.type === 'tool_use');
      expect(use?.name).toBe(name);
      await model.generate({
        messages: [...asked, assistantMessage(content), toolResultMessage({ id: 'call_1', name }, answer)],
        tools: [],
      });
      const { input } = server.bodies[1] as { input: object[] };
      expect(input.at(-1)).toEqual(output);
    },
  );
});

it('does not return a call whose arguments a chat stream cut off', async () => {
  const chunk = (delta: object) => ({
    id: 'c',
    created: 1,
    model: 'gpt-4.1',
    choices: [{ index: 0, delta, finish_reason: null }],
  });
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '' } };
  const server = await modelServer({ events: [chunk({ role: 'assistant' }), chunk({ tool_calls: [call] })] });
  const openai = createOpenAI({ baseURL: server.url, apiKey: 'key' });
  const model = fromAiSdk(openai.chat('gpt-4.1'), { contextWindow: 100_000 });
  const request = { messages: [userMessage('Hi')], tools: [weather] };
  expect(await rejection(collect(model.stream?.(request)))).toMatchObject({ retryable: true });
});
