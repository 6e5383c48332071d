import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createCompactor, dropOldest, maskOutputs } from '@x/compaction';
import {
  assistantMessage,
  type Compactor,
  type ContentBlock,
  type Message,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { generateText, jsonSchema, type ModelMessage, type ToolSet, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { fromAiSdk, prepareStepWith, withOverflowRecovery } from '../src/index.js';
import { type Answer, modelServer } from './support/model-server.js';

type Json = Record<string, unknown> & { readonly type: string };

/** One provider: how its answers look, how its SDK is called, and what its requests have to keep to. */
interface Wire {
  readonly model: (
    url: string,
  ) => Parameters<typeof fromAiSdk>[0] & Parameters<typeof generateText>[0]['model'];
  readonly answer: (content: readonly object[]) => Answer;
  readonly refusal: Answer;
  readonly options: Record<string, Record<string, never>>;
  readonly serverTools: (url: string) => ToolSet;
  /** The conversation of a request. */
  readonly sent: (body: Record<string, unknown>) => readonly unknown[];
  /** What the provider would refuse. */
  readonly broken: (body: Record<string, unknown>) => readonly string[];
  readonly recordings: Readonly<Record<string, readonly Json[]>>;
}

const pairs = (calls: readonly unknown[], results: readonly unknown[]) => [
  ...calls.filter((id) => !results.includes(id)).map((id) => `call ${id} without result`),
  ...results.filter((id) => !calls.includes(id)).map((id) => `result ${id} without call`),
];

const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' };
const readCall = { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a.ts' } };
const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } };
const found = {
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [
    {
      type: 'web_search_result',
      url: 'https://example.com',
      title: 'A',
      page_age: null,
      encrypted_content: 'e',
    },
  ],
};
const fetched = {
  type: 'web_fetch_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: {
    type: 'web_fetch_result',
    url: 'https://example.com',
    retrieved_at: '2026-01-01T00:00:00Z',
    content: {
      type: 'document',
      title: 'A',
      source: { type: 'text', media_type: 'text/plain', data: 'page' },
    },
  },
};
const ran = {
  type: 'code_execution_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: { type: 'code_execution_result', stdout: '4', stderr: '', return_code: 0, content: [] },
};

const anthropic: Wire = {
  model: (url) => createAnthropic({ baseURL: url, apiKey: 'key' })('claude-sonnet-4-5'),
  answer: (content) => ({
    json: {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content,
      stop_reason: content.some((block) => (block as Json).type === 'tool_use') ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 },
    },
  }),
  refusal: {
    status: 400,
    json: { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 9 > 8' } },
  },
  options: { anthropic: {} },
  serverTools: (url) => {
    const { tools } = createAnthropic({ baseURL: url, apiKey: 'key' });
    return {
      web_search: tools.webSearch_20250305(),
      web_fetch: tools.webFetch_20250910(),
      code_execution: tools.codeExecution_20250522(),
    } as ToolSet;
  },
  sent: ({ messages }) => messages as unknown[],
  broken: ({ messages }) => {
    const turns = messages as { readonly role: string; readonly content: readonly Json[] }[];
    const blocks = turns.flatMap(({ content }) => content);
    const ofType = (test: (type: string) => boolean, key: string) =>
      blocks.filter(({ type }) => test(type)).map((block) => block[key]);
    const late = turns.flatMap(({ content }, at) =>
      content.flatMap(({ type, id }) => {
        const next = turns[at + 1]?.content ?? [];
        return type !== 'tool_use' || next.some(({ tool_use_id }) => tool_use_id === id)
          ? []
          : [`${id} is not answered next`];
      }),
    );
    const unsigned = blocks.filter(
      (block) => block.type === 'thinking' && block.signature !== thinking.signature,
    );
    return [
      ...pairs(
        ofType((type) => type === 'server_tool_use', 'id'),
        ofType((type) => type.endsWith('_tool_result'), 'tool_use_id'),
      ),
      ...pairs(
        ofType((type) => type === 'tool_use', 'id'),
        ofType((type) => type === 'tool_result', 'tool_use_id'),
      ),
      ...late,
      ...unsigned.map(() => 'thinking without its signature'),
    ];
  },
  recordings: {
    text: [{ type: 'text', text: 'Hello.' }],
    'a thought and a call': [thinking, { type: 'text', text: 'Reading.' }, readCall],
    'redacted thinking': [
      { type: 'redacted_thinking', data: 'cmVk' },
      { type: 'text', text: 'So.' },
    ],
    'calls at once': [readCall, { ...readCall, id: 'toolu_2' }],
    'a search': [{ type: 'text', text: 'Let me look. ' }, search, found, { type: 'text', text: 'Found.' }],
    'a search that failed': [
      search,
      { ...found, content: { type: 'web_search_tool_result_error', error_code: 'unavailable' } },
      { type: 'text', text: 'No luck.' },
    ],
    'a page': [
      { ...search, name: 'web_fetch', input: { url: 'https://example.com' } },
      fetched,
      { type: 'text', text: 'Read.' },
    ],
    'code that ran': [
      { ...search, name: 'code_execution', input: { code: '2+2' } },
      ran,
      { type: 'text', text: 'Four.' },
    ],
    'a search and a call': [thinking, search, found, { type: 'text', text: 'And now.' }, readCall],
  },
};

const message = (text: string, more: object = {}) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
  ...more,
});
const reasoning = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'Hm.' }],
  encrypted_content: 'ZW5j',
};
const functionCall = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'read',
  arguments: '{"path":"a.ts"}',
  status: 'completed',
};

const openai: Wire = {
  model: (url) => createOpenAI({ baseURL: url, apiKey: 'key' })('gpt-5'),
  answer: (output) => ({
    json: {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      model: 'gpt-5',
      status: 'completed',
      error: null,
      incomplete_details: null,
      output,
      usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
    },
  }),
  refusal: {
    status: 400,
    json: {
      error: {
        code: 'context_length_exceeded',
        message: 'Your input exceeds the context window',
        type: 'invalid_request_error',
      },
    },
  },
  options: { openai: { store: false as never } },
  serverTools: (url) =>
    ({ web_search: createOpenAI({ baseURL: url, apiKey: 'key' }).tools.webSearch() }) as ToolSet,
  sent: ({ input }) => input as unknown[],
  broken: ({ input }) => {
    const items = input as Json[];
    const ids = (type: string) => items.filter((item) => item.type === type).map(({ call_id }) => call_id);
    const alone = items.filter((item, at) => {
      const next = items[at + 1];
      return (
        item.type === 'reasoning' && (next === undefined || next.role === 'user' || next.role === 'system')
      );
    });
    return [
      ...pairs(ids('function_call'), ids('function_call_output')),
      ...alone.map(({ id }) => `reasoning ${id} without what it led to`),
      ...items
        .filter((item) => item.type === 'reasoning' && item.encrypted_content !== 'ZW5j')
        .map(() => 'reasoning altered'),
    ];
  },
  recordings: {
    text: [message('Hello.')],
    'a thought and words': [reasoning, message('So.')],
    'a thought and a call': [reasoning, functionCall],
    'words by phases': [
      message('First.', { phase: 'commentary' }),
      message('Last.', { id: 'msg_2', phase: 'final_answer' }),
    ],
    'calls at once': [reasoning, functionCall, { ...functionCall, id: 'fc_2', call_id: 'call_2' }],
    'a search': [
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
      message('Found.'),
    ],
  },
};

const read = tool({
  description: 'Reads',
  inputSchema: jsonSchema<never>({
    type: 'object',
    properties: { path: { type: 'string' } },
    required: ['path'],
  }),
}) as unknown as ToolSet[string];

/** What the SDK itself makes of an answer: its messages, with results of calls. */
async function record({ model, answer, options, serverTools }: Wire, content: readonly object[]) {
  const server = await modelServer(answer(content));
  const tools = { read, ...serverTools(server.url) };
  const { response, toolCalls } = await generateText({
    model: model(server.url),
    tools,
    messages: [{ role: 'user', content: 'Go' }],
    providerOptions: options,
    maxRetries: 0,
  });
  const own = toolCalls.filter(({ providerExecuted }) => !providerExecuted);
  const results: ModelMessage[] =
    own.length === 0
      ? []
      : [
          {
            role: 'tool',
            content: own.map(({ toolCallId, toolName }) => ({
              type: 'tool-result',
              toolCallId,
              toolName,
              output: { type: 'text', value: `${toolCallId} has this content. ${'More of it. '.repeat(40)}` },
            })),
          },
        ];
  return [...response.messages, ...results];
}

/** What the SDK sends of messages, through what is put before the model. */
async function send(
  wire: Wire,
  messages: ModelMessage[],
  how: { readonly step?: Compactor; readonly overflow?: Compactor } = {},
): Promise<Record<string, unknown>> {
  const { model, answer, options, serverTools, refusal, recordings } = wire;
  const answers = [answer(recordings.text ?? []), answer(recordings.text ?? [])];
  const server = await modelServer(...(how.overflow ? [refusal] : []), ...answers);
  const plain = model(server.url);
  await generateText({
    model: how.overflow ? withOverflowRecovery(plain as never, how.overflow) : plain,
    tools: { read, ...serverTools(server.url) },
    messages,
    providerOptions: options,
    maxRetries: 0,
    ...(how.step === undefined ? {} : { prepareStep: prepareStepWith(how.step) }),
  });
  return server.bodies.at(-1) ?? {};
}

const small = { contextWindow: 3_000, trigger: { share: 0.5 }, target: 0.3 };
const reductions: Readonly<Record<string, () => Compactor>> = {
  'the ladder': () => createCompactor({ ...small, keep: { messages: 6 } }),
  'masked results': () => createCompactor({ ...small, stages: [maskOutputs()] }),
  'dropped messages': () => createCompactor({ ...small, stages: [dropOldest()] }),
};

describe.each([
  ['Anthropic', anthropic],
  ['OpenAI', openai],
])('what goes back to %s', (_, wire) => {
  describe.each(Object.entries(wire.recordings))('of %s', (_, content) => {
    const later: ModelMessage = { role: 'user', content: 'And now?' };

    it('is what the SDK itself sends, after a trip through our model, a store and back', async () => {
      const theirs = await send(wire, [
        { role: 'user', content: 'Go' },
        ...(await record(wire, content)),
        later,
      ]);
      const server = await modelServer(wire.answer(content), wire.answer(wire.recordings.text ?? []));
      const providerTools = Object.entries(
        wire.serverTools(server.url) as Record<string, { id?: string; args?: object }>,
      ).map(([name, { id, args }]) => ({
        type: 'provider' as const,
        name,
        id: String(id),
        args,
      }));
      const model = fromAiSdk(wire.model(server.url), {
        providerOptions: wire.options,
        providerTools,
      } as never);
      const tools = [{ name: 'read', description: 'Reads', inputSchema: { type: 'object' } }];
      const asked = [userMessage('Go')];
      const { content: blocks } = await model.generate({ messages: asked, tools });
      const answer = JSON.parse(JSON.stringify(assistantMessage([...blocks]))) as Message;
      const results = answer.content.flatMap((block: ContentBlock) =>
        block.type === 'tool_use'
          ? [toolResultMessage(block, `${block.id} has this content. ${'More of it. '.repeat(40)}`)]
          : [],
      );
      await model.generate({ messages: [...asked, answer, ...results, userMessage('And now?')], tools });
      expect(wire.sent(server.bodies.at(-1) ?? {})).toEqual(wire.sent(theirs));
    });

    it('is the same byte for byte behind a compactor that has nothing to do', async () => {
      const messages = [{ role: 'user', content: 'Go' } as const, ...(await record(wire, content)), later];
      const idle = createCompactor({ contextWindow: 200_000 });
      const plain = JSON.stringify(await send(wire, messages));
      expect(JSON.stringify(await send(wire, messages, { step: idle }))).toBe(plain);
    });

    it.each(Object.keys(reductions))(
      'keeps to the rules after %s, before and after an overflow',
      async (by) => {
        const recorded = await record(wire, content);
        const filler = await record(wire, wire.recordings['a thought and a call'] ?? []);
        const renamed = (messages: readonly ModelMessage[], turn: number): ModelMessage[] =>
          JSON.parse(
            JSON.stringify(messages).replaceAll(
              /\b(toolu|srvtoolu|call|fc|rs|msg|ws)_(\d)/g,
              `$1_${turn}x$2`,
            ),
          );
        const turn = (messages: readonly ModelMessage[], at: number) => [
          { role: 'user', content: `Question ${at}` } as const,
          ...renamed(messages, at),
        ];
        const turns = Array.from({ length: 16 }, (_, at) =>
          turn(at === 2 || at === 15 ? recorded : filler, at),
        ).flat();
        const whole = await send(wire, [...turns, later]);
        expect(wire.broken(whole)).toEqual([]);
        const compactor = reductions[by] as () => Compactor;
        const reduced = await send(wire, [...turns, later], { step: compactor() });
        expect(JSON.stringify(reduced).length).toBeLessThan(JSON.stringify(whole).length);
        expect(wire.broken(reduced)).toEqual([]);
        const recovered = await send(wire, [...turns, later], { overflow: compactor() });
        expect(JSON.stringify(recovered).length).toBeLessThan(JSON.stringify(whole).length);
        expect(wire.broken(recovered)).toEqual([]);
      },
    );
  });
});
