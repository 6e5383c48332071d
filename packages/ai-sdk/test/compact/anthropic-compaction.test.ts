import { createAnthropic } from '@ai-sdk/anthropic';
import { createCompactor } from '@x/compaction';
import { assistantMessage, CapabilityError, type Message, userMessage } from '@x/core';
import { expect, it } from 'vitest';
import { anthropicCompaction, type FromAiSdkOptions, fromAiSdk } from '../../src/index.js';
import { anthropicAnswer } from '../support/answers.js';
import { type Answer, modelServer } from '../support/model-server.js';

const SUMMARY = 'Built the server. \u2028 "Next": <tests> & \\docs — trailing space ';

/** With every field of the protocol, and one of a later version of it. */
const BLOCK = {
  type: 'compaction',
  content: SUMMARY,
  encrypted_content: 'EqQBCkYIB/+=',
  signature: 'c2lnbmF0dXJl',
  tool_changes: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'run' } }],
  later_field: { a: [1] },
};
const COMPACTED = anthropicAnswer([BLOCK], {
  stop_reason: 'compaction',
  usage: {
    input_tokens: 0,
    output_tokens: 0,
    iterations: [{ type: 'compaction', input_tokens: 61_000, output_tokens: 800 }],
  },
});
const ANSWERED = anthropicAnswer([{ type: 'text', text: 'Done.' }]);

const long = Array.from({ length: 30 }, (_, turn) => [
  userMessage(`Request ${turn}`),
  assistantMessage('Another thing that I have found out. '.repeat(60)),
]).flat();
const tools = [{ name: 'run', description: 'Runs', inputSchema: { type: 'object' } }];

async function connect(options: Omit<FromAiSdkOptions, 'compact'>, ...answers: readonly Answer[]) {
  const server = await modelServer(...answers);
  const compact = anthropicCompaction();
  const anthropic = createAnthropic({ baseURL: server.url, apiKey: 'key', fetch: compact.fetch });
  const model = fromAiSdk(anthropic('claude-opus-4-6'), { contextWindow: 200_000, ...options, compact });
  return { server, model };
}

const bodyOf = (body: Record<string, unknown> | undefined) =>
  body as
    | { messages: readonly { role: string; content: readonly object[] }[]; context_management?: unknown }
    | undefined;

it('asks for a compaction and sends every field of the block back', async () => {
  const edits = { contextManagement: { edits: [{ type: 'clear_tool_uses_20250919' }] } } as never;
  const { server, model } = await connect(
    { headers: { 'anthropic-beta': 'mine-1' }, providerOptions: { anthropic: edits } },
    COMPACTED,
    ANSWERED,
    ANSWERED,
  );
  const request = { system: 'Be brief.', messages: long, tools, instructions: 'all paths' };
  const compacted = await model.compact?.(request);
  const [asked] = server.bodies;
  expect(server.requests[0]?.headers['anthropic-beta']).toContain('compact-2026-09-04');
  expect(asked?.compaction).toEqual({
    type: 'summarize',
    instructions: expect.stringContaining('Keep in particular: all paths'),
  });
  expect(asked).not.toHaveProperty('context_management');
  expect(bodyOf(asked)?.messages).toHaveLength(60);
  expect(compacted?.usage).toMatchObject({ inputTokens: 61_000, outputTokens: 800 });
  expect(compacted?.content[0]?.tokens).toBe(800);

  const summary = userMessage([{ type: 'text', text: 'The record' }, ...(compacted?.content ?? [])], {
    kind: 'summary',
  });
  const stored = JSON.parse(JSON.stringify(summary)) as Message;
  await model.generate({ messages: [...long.slice(0, 1), stored, ...long.slice(-1)], tools });
  await model.generate({ messages: [userMessage('Something else')], tools });
  const [, second, third] = server.requests;
  const [first, ...rest] = bodyOf(server.bodies[1])?.messages ?? [];
  expect(JSON.stringify(first)).toBe(JSON.stringify({ role: 'assistant', content: [BLOCK] }));
  // The block must come first, and does not hold the request word for word.
  expect(rest).toMatchObject([
    { role: 'user', content: [{ type: 'text', text: 'Request 0' }] },
    { role: 'assistant' },
  ]);
  expect(second?.headers['anthropic-beta']?.toString().split(/, ?/)).toEqual(
    expect.arrayContaining(['mine-1', 'compact-2026-09-04']),
  );
  expect(third?.headers['anthropic-beta']).not.toContain('compact-2026-09-04');
});

it('sends every request that the conversation kept again, however long the chat goes on', async () => {
  const { server, model } = await connect({}, COMPACTED, ANSWERED, COMPACTED, ANSWERED);
  const compactor = createCompactor({ model, stages: ['native', 'drop_oldest'], keep: { messages: 4 } });
  const needs = userMessage('REQ-ONE: the port is 4711, and every file ends with a line break.');
  let conversation: readonly Message[] = [needs, ...long];
  for (const step of [1, 3]) {
    conversation = (await compactor.compact(conversation)).messages;
    conversation = [...conversation, assistantMessage('Go on.'), userMessage('And the next part.')];
    await model.generate({ messages: conversation, tools });
    const [first, ...rest] = bodyOf(server.bodies[step])?.messages ?? [];
    expect(first).toEqual({ role: 'assistant', content: [BLOCK] });
    const texts = JSON.stringify(rest);
    expect(texts).toContain('What the user asked before, word for word');
    expect(texts).toContain('REQ-ONE: the port is 4711');
    expect(texts.indexOf('REQ-ONE')).toBeLessThan(texts.indexOf('And the next part.'));
    conversation = [...conversation, ...long.map((message) => ({ ...message, id: `${step}-${message.id}` }))];
  }
});

it('sends a file again that the user sent without words', async () => {
  const { server, model } = await connect({}, COMPACTED, ANSWERED);
  const compactor = createCompactor({ model, stages: ['native', 'drop_oldest'], keep: { messages: 4 } });
  const source = { type: 'base64', data: 'aW1hZ2U=' } as const;
  const image = userMessage([{ type: 'file', mediaType: 'image/png', source }]);
  const { messages } = await compactor.compact([image, ...long]);
  await model.generate({ messages, tools });
  expect(JSON.stringify(server.bodies[1])).toContain('aW1hZ2U=');
});

it('serves the stage native of a compactor, of any length', async () => {
  const { model } = await connect({}, COMPACTED);
  const compactor = createCompactor({ model, stages: ['native', 'drop_oldest'], keep: { messages: 4 } });
  const outcome = await compactor.compact(long);
  expect(outcome).toMatchObject({ status: 'applied', message: 'reduced by native' });
  expect(outcome.messages.slice(-4)).toEqual(long.slice(-4));
});

it.each([
  ['the model answers in place of compacting', ANSWERED],
  [
    'the block has no content',
    anthropicAnswer([{ type: 'compaction', content: null }], { stop_reason: 'compaction' }),
  ],
])('fails when %s', async (_, answer) => {
  const { model } = await connect({}, answer);
  await expect(model.compact?.({ messages: long, tools })).rejects.toThrow('returned no compaction');
});

it('is refused for models of other providers', () => {
  const anthropic = createAnthropic({ apiKey: 'key' });
  const model = { ...anthropic('claude-opus-4-6'), provider: 'openai.chat' } as never;
  expect(() => fromAiSdk(model, { compact: anthropicCompaction() })).toThrow(CapabilityError);
});
