import { createAnthropic } from '@ai-sdk/anthropic';
import { createCompactor } from '@x/compaction';
import { assistantMessage, CapabilityError, type Message, userMessage } from '@x/core';
import { expect, it } from 'vitest';
import { anthropicCompaction, type FromAiSdkOptions, fromAiSdk } from '../../src/index.js';
import { collect } from '../support/collect.js';
import { type Answer, modelServer } from '../support/model-server.js';

const SUMMARY = 'Built the server. \u2028 "Next": <tests> & \\docs — trailing space ';

const answered = (content: readonly object[], stop_reason: string, usage: object = {}): Answer => ({
  json: {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    model: 'claude-opus-4-6',
    content,
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5, ...usage },
  },
});
const COMPACTED = answered([{ type: 'compaction', content: SUMMARY }], 'compaction', {
  input_tokens: 0,
  output_tokens: 0,
  iterations: [{ type: 'compaction', input_tokens: 61_000, output_tokens: 800 }],
  context_management: { applied_edits: [{ type: 'compact_20260112' }] },
});
const ANSWERED = answered([{ type: 'text', text: 'Done.' }], 'end_turn');

/** Some 60 000 tokens. */
const long = Array.from({ length: 30 }, (_, turn) => [
  userMessage(`Request ${turn}`),
  assistantMessage('Another thing that I have found out. '.repeat(260)),
]).flat();
const tools = [{ name: 'run', description: 'Runs', inputSchema: { type: 'object' } }];

async function connect(options: FromAiSdkOptions, ...answers: readonly Answer[]) {
  const server = await modelServer(...answers);
  const anthropic = createAnthropic({ baseURL: server.url, apiKey: 'key' });
  return { server, model: fromAiSdk(anthropic('claude-opus-4-6'), { contextWindow: 200_000, ...options }) };
}

const bodyOf = (body: Record<string, unknown> | undefined) =>
  body as
    | { messages: readonly { role: string; content: readonly object[] }[]; context_management?: unknown }
    | undefined;

it('asks for a compaction and sends the block back byte for byte', async () => {
  const { server, model } = await connect(
    {
      compact: anthropicCompaction({ instructions: 'Keep paths.' }),
      headers: { 'anthropic-beta': 'mine-1' },
    },
    COMPACTED,
    ANSWERED,
    ANSWERED,
  );
  const compacted = await model.compact?.({ system: 'Be brief.', messages: long, tools });
  expect(server.requests[0]?.headers['anthropic-beta']).toContain('compact-2026-01-12');
  expect(bodyOf(server.bodies[0])?.context_management).toEqual({
    edits: [
      {
        type: 'compact_20260112',
        trigger: { type: 'input_tokens', value: 50_000 },
        pause_after_compaction: true,
        instructions: 'Keep paths.',
      },
    ],
  });
  expect(bodyOf(server.bodies[0])?.messages).toHaveLength(61);
  expect(bodyOf(server.bodies[0])?.messages.at(-1)?.role).toBe('user');
  expect(compacted?.usage).toMatchObject({ inputTokens: 61_000, outputTokens: 800 });
  expect(compacted?.messages).toMatchObject([
    { role: 'assistant', kind: 'summary', content: [{ type: 'text', text: SUMMARY }] },
  ]);

  const stored = JSON.parse(JSON.stringify(compacted?.messages)) as Message[];
  await model.generate({ messages: [...stored, userMessage('Go on')], tools });
  await model.generate({ messages: [userMessage('Something else')], tools });
  const [, second, third] = server.requests;
  expect(bodyOf(server.bodies[1])?.messages).toEqual([
    { role: 'assistant', content: [{ type: 'compaction', content: SUMMARY }] },
    { role: 'user', content: [{ type: 'text', text: 'Go on' }] },
  ]);
  expect(bodyOf(server.bodies[1])?.context_management).toBeUndefined();
  expect(second?.headers['anthropic-beta']?.toString().split(',')).toEqual(
    expect.arrayContaining(['mine-1', 'compact-2026-01-12']),
  );
  expect(third?.headers['anthropic-beta']).not.toContain('compact-2026-01-12');
});

it('serves the strategy native of a compactor', async () => {
  const { model } = await connect({ compact: anthropicCompaction() }, COMPACTED);
  const compactor = createCompactor({ model, stages: ['native', 'drop_oldest'], keep: { messages: 4 } });
  const outcome = await compactor.compact(long);
  expect(outcome).toMatchObject({ status: 'applied', reason: 'reduced by native', messagesAfter: 5 });
  expect(outcome.messages.slice(1)).toEqual(long.slice(-4));
});

it('leaves a conversation alone that Anthropic would not compact', async () => {
  const { server, model } = await connect({ compact: anthropicCompaction() }, ANSWERED);
  const short = long.slice(0, 10);
  expect((await model.compact?.({ messages: short, tools }))?.messages).toBe(short);
  expect(server.bodies).toEqual([]);
});

it('returns nothing when the model answers in place of compacting', async () => {
  const { model } = await connect({ compact: anthropicCompaction() }, ANSWERED);
  expect((await model.compact?.({ messages: long, tools }))?.messages).toEqual([]);
});

it('keeps the edits that a user has configured, and the compaction in a stream', async () => {
  const { server, model } = await connect(
    {
      compact: anthropicCompaction(),
      providerOptions: {
        anthropic: {
          contextManagement: { edits: [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112' }] },
        },
      },
    },
    COMPACTED,
    {
      events: [
        {
          type: 'message_start',
          message: {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: 1, output_tokens: 1 },
          },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'compaction', content: null } },
        { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: SUMMARY } },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: { output_tokens: 5 },
        },
        { type: 'message_stop' },
      ].map((data) => [data.type, data] as const),
    },
  );
  await model.compact?.({ messages: long, tools });
  expect(bodyOf(server.bodies[0])?.context_management).toMatchObject({
    edits: [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112', pause_after_compaction: true }],
  });
  const { response } = await collect(model.stream?.({ messages: long, tools }));
  expect(response.content).toEqual([
    { type: 'text', text: SUMMARY, providerMetadata: { anthropic: { type: 'compaction' } } },
  ]);
});

it('is refused for models of other providers', () => {
  const anthropic = createAnthropic({ apiKey: 'key' });
  const model = { ...anthropic('claude-opus-4-6'), provider: 'openai.chat' } as never;
  expect(() => fromAiSdk(model, { compact: anthropicCompaction() })).toThrow(CapabilityError);
});
