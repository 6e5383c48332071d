import { type AgentEvent, type AgentEventBody, assistantMessage, type JsonObject, XError } from '@x/core';
import { opaquePart, type Part, toolResultBlock } from '@x/core/messages';
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
} from 'ai';
import { expect, it } from 'vitest';
import { decisionsIn, toUIMessageStream } from '../../src/index.js';

const context = {
  system: 0,
  tools: 0,
  summary: 0,
  conversation: 0,
  toolResults: 0,
  reminders: 0,
  total: 0,
} as const;
const usage = { inputTokens: 1, outputTokens: 1 };
const read = { type: 'tool_use', id: 'call-1', name: 'read_file', input: { path: 'a.ts' } } as const;

async function* eventsOf(...bodies: readonly AgentEventBody[]): AsyncGenerator<AgentEvent> {
  const envelope = { seq: 1, sessionId: 's', agentId: 'a', callId: 'c', step: 1 };
  for (const body of bodies) yield { ...envelope, ...body, at: new Date(0).toISOString() };
}
const draft = { messageId: 'm', draft: 1 };
const started = (step: number): AgentEventBody => ({ type: 'model.started', step, context });
const completed = (step: number, content: Parameters<typeof assistantMessage>[0]): AgentEventBody => ({
  type: 'model.completed',
  step,
  message: assistantMessage(content),
  finishReason: 'stop',
  durationMs: 1,
});
const ended = (stopReason: 'completed' | 'permission_required'): AgentEventBody => ({
  type: 'call.completed',
  callId: 'c',
  stopReason,
  text: '',
  steps: 1,
  pendingCalls: [],
  usage,
});

async function told(
  events: AsyncIterable<AgentEvent>,
  options: Parameters<typeof toUIMessageStream>[1] = {},
) {
  const chunks: UIMessageChunk[] = [];
  const [kept, shown] = (toUIMessageStream(events, options) as ReadableStream<UIMessageChunk>).tee();
  const reader = kept.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
  let message: UIMessage | undefined;
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  for await (const state of readUIMessageStream({ stream: shown, onError })) message = state;
  for (const chunk of chunks) {
    const schema = await uiMessageChunkSchema();
    expect((await schema.validate?.(JSON.parse(JSON.stringify(chunk))))?.success).toBe(true);
  }
  return { chunks, types: chunks.map(({ type }) => type), message, errors };
}

/** The message of a page once it has read these events, which go on with an earlier message of it. */
async function page(before: UIMessage | undefined, ...bodies: readonly AgentEventBody[]) {
  const stream = toUIMessageStream(eventsOf(...bodies)) as ReadableStream<UIMessageChunk>;
  let message = before;
  const start = before && { message: structuredClone(before) };
  for await (const state of readUIMessageStream({ ...start, stream })) message = state;
  return message as UIMessage;
}

/** A message of a page after a person's decision, as `addToolApprovalResponse` leaves it. */
function answered(message: UIMessage, id: string, approved: boolean): UIMessage {
  const parts = message.parts.map((part) =>
    'approval' in part && part.approval?.id === id
      ? { ...part, state: 'approval-responded', approval: { id, approved } }
      : part,
  );
  return { ...message, parts: parts as UIMessage['parts'] };
}

it('tells steps, thoughts, texts and tools in the words of the SDK, each once', async () => {
  const { message, errors, chunks } = await told(
    eventsOf(
      { type: 'call.started', callId: 'c', resumed: false },
      started(1),
      { type: 'thinking.delta', text: 'Hm', ...draft },
      { type: 'text.delta', text: 'Rea', ...draft },
      { type: 'text.delta', text: 'ding.', ...draft },
      completed(1, [{ type: 'thinking', thinking: 'Hm' }, { type: 'text', text: 'Reading.' }, read]),
      { type: 'tool.call', call: read },
      { type: 'tool.result', result: toolResultBlock(read, 'export {}'), durationMs: 1 },
      started(2),
      { type: 'text.delta', text: 'Done.', ...draft },
      completed(2, 'Done.'),
      ended('completed'),
    ),
    { messageId: 'm1' },
  );
  expect(errors).toEqual([]);
  expect(message?.id).toBe('m1');
  expect(message?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'reasoning', text: 'Hm', state: 'done' },
    { type: 'text', text: 'Reading.', state: 'done' },
    {
      type: 'dynamic-tool',
      toolName: 'read_file',
      state: 'output-available',
      input: { path: 'a.ts' },
      output: 'export {}',
    },
    { type: 'step-start' },
    { type: 'text', text: 'Done.', state: 'done' },
  ]);
  expect(message?.metadata).toEqual({ stopReason: 'completed', usage });
  expect(chunks.filter(({ type }) => type === 'finish-step')).toHaveLength(2);
});

it('tells an answer whole that was not streamed, its files too', async () => {
  const image = { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } } as const;
  const { message } = await told(
    eventsOf(started(1), completed(1, [{ type: 'text', text: 'Here.' }, image]), ended('completed')),
  );
  expect(message?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'Here.' },
    { type: 'file', url: 'data:image/png;base64,AAAA' },
  ]);
});

it('lets a page go on with calls of a subagent that were asked about, one after the other', async () => {
  const spawn = { type: 'tool_use', id: 'call-1', name: 'agent_spawn', input: {} } as const;
  const pay = { type: 'tool_use', id: 'call-1', name: 'pay', input: { to: 'ann' }, agentId: 'k' } as const;
  const [first, second] = ['a1', 'a2'].map((approvalId) => ({ ...pay, approvalId, askedAt: '' }));
  const asks = (call: typeof first): readonly AgentEventBody[] => [
    { type: 'tool.call', call: spawn },
    { type: 'permission.required', calls: call === undefined ? [] : [call] },
    { type: 'tool.result', result: toolResultBlock(spawn, 'It waits.'), durationMs: 1 },
    ended('permission_required'),
  ];
  const decided = (call: typeof first, decision: 'approved' | 'denied'): readonly AgentEventBody[] =>
    call === undefined ? [] : [{ type: 'permission.decided', call, decision }];

  let message = await page(undefined, started(1), completed(1, [spawn]), ...asks(first));
  expect(message.parts.slice(1)).toMatchObject([
    { toolName: 'agent_spawn', state: 'output-available', input: {} },
    { toolName: 'pay', state: 'approval-requested', input: { to: 'ann' }, approval: { id: 'a1' } },
  ]);
  message = answered(message, 'a1', true);
  expect(lastAssistantMessageIsCompleteWithApprovalResponses({ messages: [message] })).toBe(true);
  expect(decisionsIn([message])).toEqual({ a1: { type: 'approve' } });

  message = await page(message, ...decided(first, 'approved'), ...asks(second));
  message = answered(message, 'a2', false);
  expect(lastAssistantMessageIsCompleteWithApprovalResponses({ messages: [message] })).toBe(true);
  // The first decision is used up: given again, it would be refused as not pending.
  expect(decisionsIn([message])).toEqual({ a2: { type: 'deny', reason: undefined } });

  const done = { type: 'tool.result', result: toolResultBlock(spawn, 'Paid.'), durationMs: 1 } as const;
  message = await page(message, ...decided(second, 'denied'), { type: 'tool.call', call: spawn }, done);
  expect(message.parts.slice(1)).toMatchObject([
    { toolName: 'agent_spawn', state: 'output-available', output: 'Paid.' },
    { toolName: 'pay', state: 'output-available', output: expect.stringContaining('approved') },
    { toolName: 'pay', state: 'output-available', output: expect.stringContaining('denied') },
  ]);
  expect(decisionsIn([message])).toBeUndefined();
});

it('leaves no call of a provider open', async () => {
  const half = opaquePart(
    { type: 'tool-call', toolCallId: 'p1', toolName: 'search', input: '{}', providerExecuted: true } as Part,
    'acme.messages',
  );
  const { message } = await told(eventsOf(started(1), completed(1, [half]), ended('completed')));
  expect(message?.parts.at(-1)).toMatchObject({ toolCallId: 'p1', state: 'output-error' });
});

it('asks for approval, and tells the result of a call that an earlier answer made', async () => {
  const asked = await told(
    eventsOf(
      started(1),
      completed(1, [read]),
      { type: 'permission.required', calls: [{ ...read, approvalId: 'a1', askedAt: '' }] },
      ended('permission_required'),
    ),
  );
  expect(asked.message?.parts.at(-1)).toMatchObject({
    state: 'approval-requested',
    toolCallId: 'call-1',
    approval: { id: 'a1' },
  });
  expect(asked.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' });
  const answers = [
    { id: 'a1', approved: true },
    { id: 'a2', approved: false, reason: 'No.' },
  ].map((approval) => ({ type: 'dynamic-tool', state: 'approval-responded', approval }));
  const parts = [...(asked.message?.parts ?? []), ...answers];
  expect(decisionsIn([{ id: 'm', role: 'assistant', parts }])).toEqual({
    a1: { type: 'approve' },
    a2: { type: 'deny', reason: 'No.' },
  });
  expect(decisionsIn(asked.message ? [asked.message] : [])).toBeUndefined();
  const resumed = await told(
    eventsOf(
      { type: 'tool.result', result: toolResultBlock(read, 'no', true), durationMs: 1 },
      ended('completed'),
    ),
  );
  expect(resumed.errors).toEqual([]);
  expect(resumed.message?.parts).toMatchObject([{ state: 'output-error', errorText: 'no' }]);
});

it('lets a page send its decision while other calls wait for it', async () => {
  const pay = { ...read, id: 'call-2', name: 'pay', approvalId: 'a1', askedAt: '' };
  const { approvalId: _, askedAt: __, ...paying } = pay;
  const { message } = await told(
    eventsOf(
      started(1),
      { type: 'tool.delta', toolUseId: pay.id, name: 'pay', inputDelta: '{"path":"a.ts"}', ...draft },
      { type: 'tool.delta', toolUseId: read.id, name: read.name, inputDelta: '{"path":"a.ts"}', ...draft },
      completed(1, [paying, read]),
      { type: 'permission.required', calls: [pay] },
      ended('permission_required'),
    ),
  );
  const decided = answered(message as UIMessage, 'a1', true);
  expect(lastAssistantMessageIsCompleteWithApprovalResponses({ messages: [decided] })).toBe(true);
  expect(decided.parts.at(-1)).toMatchObject({ state: 'output-available', input: { path: 'a.ts' } });

  const done = { type: 'tool.result', result: toolResultBlock(read, 'text'), durationMs: 1 } as const;
  const after = await page(decided, { type: 'tool.call', call: read }, done, ended('completed'));
  expect(after.parts.at(-1)).toMatchObject({ state: 'output-available', output: 'text' });
});

it('uses a decision up, even if its call does not run yet', async () => {
  const pay = { ...read, name: 'pay', approvalId: 'a1', askedAt: '' };
  const other = { ...pay, id: 'call-2', approvalId: 'a2', agentId: 'k' };
  const asked = { type: 'permission.required', calls: [pay] } as const;
  const decided = { type: 'permission.decided', call: pay, decision: 'approved' } as const;
  const before = answered(
    await page(undefined, started(1), completed(1, [read]), asked, ended('permission_required')),
    'a1',
    true,
  );
  const more = { type: 'permission.required', calls: [other] } as const;
  const again = answered(await page(before, decided, more, ended('permission_required')), 'a2', true);
  expect(lastAssistantMessageIsCompleteWithApprovalResponses({ messages: [again] })).toBe(true);
  expect(decisionsIn([again])).toEqual({ a2: { type: 'approve' } });
  const cut = await page(before, decided, ended('completed'));
  expect(decisionsIn([cut])).toBeUndefined();
});

it('says which parts a retry made void, and nothing of the server in an error', async () => {
  async function* failing() {
    yield* eventsOf(started(1), { type: 'text.delta', text: 'Half', ...draft });
    yield* eventsOf({ type: 'draft.discarded', text: 'Half', ...draft });
    yield* eventsOf({ type: 'model.retrying', attempt: 1, delayMs: 1, error: 'cut' });
    yield* eventsOf({ type: 'text.delta', text: 'Whole', ...draft });
    throw new Error('password=hunter2');
  }
  const { chunks, types } = await told(failing());
  expect(chunks).toContainEqual({ type: 'data-discarded', data: { void: ['1'] }, transient: true });
  expect(chunks).toContainEqual({
    type: 'data-retry',
    data: { error: expect.stringMatching(/^The model is not available/) },
    transient: true,
  });
  expect(chunks).toContainEqual({ type: 'text-start', id: '2' });
  expect(JSON.stringify(chunks)).not.toContain('hunter2');
  expect(types.slice(-4)).toEqual(['finish-step', 'data-error', 'error', 'finish']);
  const worded = await told(failing(), { onError: (error) => `Sorry: ${(error as Error).name}` });
  expect(worded.chunks).toContainEqual({ type: 'error', errorText: 'Sorry: Error' });
});

it.each(['not_pending', 'nothing_to_resume'])(
  'tells the code of an error of the client: %s',
  async (code) => {
    async function* failing() {
      yield* eventsOf();
      throw Object.assign(new XError(code, 'The server says: password=hunter2'), {
        clientMessage: 'Reload.',
      });
    }
    const { chunks } = await told(failing());
    expect(chunks).toContainEqual({
      type: 'data-error',
      data: { code, message: 'Reload.' },
      transient: true,
    });
    expect(chunks).toContainEqual({ type: 'error', errorText: 'Reload.' });
    expect(JSON.stringify(chunks)).not.toContain('hunter2');
  },
);

it('ends the agent’s call when its reader leaves, and asks for nothing before it is read', async () => {
  let isOver = false;
  let asked = 0;
  async function* endless() {
    try {
      for (;;) {
        asked += 1;
        yield* eventsOf({ type: 'text.delta', text: '.', ...draft });
      }
    } finally {
      isOver = true;
    }
  }
  const reader = toUIMessageStream(endless()).getReader();
  await reader.read();
  expect(asked).toBe(0);
  await reader.read();
  await reader.cancel();
  expect(isOver).toBe(true);
});

it('ends the agent’s call when its reader leaves while nothing comes', async () => {
  let leave = () => {};
  let ask = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const silent: AsyncIterator<AgentEvent> = {
    next: () =>
      new Promise((resolve) => {
        ask();
        leave = () => resolve({ done: true, value: undefined });
      }),
    async return() {
      leave();
      return { done: true, value: undefined };
    },
  };
  const reader = toUIMessageStream({ [Symbol.asyncIterator]: () => silent }).getReader();
  await reader.read();
  const reading = reader.read();
  await asked;
  await reader.cancel();
  expect(await reading).toMatchObject({ done: true });
});

it('tells the input of a tool as it is written, and that a call was not made', async () => {
  const deltaOf = (toolUseId: string, inputDelta: string): AgentEventBody => ({
    type: 'tool.delta',
    toolUseId,
    name: 'read_file',
    inputDelta,
    ...draft,
  });
  const { chunks, message, errors } = await told(
    eventsOf(
      started(1),
      deltaOf('lost', '{"pa'),
      { type: 'draft.discarded', ...draft, text: '' },
      deltaOf('call-1', '{"path":'),
      deltaOf('call-1', '"a.ts"}'),
      deltaOf('cut', '{"path":"b'),
      completed(1, [read]),
      { type: 'tool.call', call: read },
      { type: 'tool.result', result: toolResultBlock(read, 'text'), durationMs: 1 },
      ended('completed'),
    ),
  );
  expect(errors).toEqual([]);
  expect(chunks.filter(({ type }) => type === 'tool-input-delta')).toHaveLength(4);
  expect(message?.parts.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([
    { toolCallId: 'lost', state: 'output-error' },
    { toolCallId: 'call-1', state: 'output-available', input: { path: 'a.ts' }, output: 'text' },
    { toolCallId: 'cut', state: 'output-error' },
  ]);
});

it('tells tools that the provider ran, sources, files and what it attached to thoughts', async () => {
  const opaque = (data: JsonObject) => opaquePart(data as Part, 'acme.messages');
  const mine = { acme: { item: 'i1' } };
  const search = { toolCallId: 'p1', toolName: 'web_search' };
  const source = { type: 'source', sourceType: 'url', id: 's1', url: 'https://a.example', title: 'A' };
  const paper = {
    type: 'source',
    sourceType: 'document',
    id: 's2',
    mediaType: 'application/pdf',
    title: 'B',
  };
  const { message, errors, types } = await told(
    eventsOf(
      started(1),
      { type: 'thinking.delta', text: 'Hm', ...draft },
      { type: 'text.delta', text: 'Found.', ...draft },
      completed(1, [
        { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
        opaque({
          type: 'tool-call',
          ...search,
          input: '{"q":"a"}',
          providerExecuted: true,
          providerMetadata: mine,
        }),
        opaque({ type: 'tool-result', ...search, result: [{ url: 'https://a.example' }] }),
        opaque({
          type: 'tool-result',
          toolCallId: 'p2',
          toolName: 'fetch',
          result: { code: 7 },
          isError: true,
        }),
        { type: 'text', text: 'Found.' },
        opaque({ ...source, providerMetadata: mine }),
        opaque(paper),
        opaque({ type: 'citations', citations: [] }),
        {
          type: 'file',
          mediaType: 'text/plain',
          source: { type: 'url', url: 'https://a.example/f' },
          providerMetadata: mine,
        },
      ]),
      ended('completed'),
    ),
  );
  expect(errors).toEqual([]);
  expect(types.indexOf('text-start')).toBeLessThan(types.indexOf('reasoning-end'));
  expect(message?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'reasoning', text: 'Hm', state: 'done', providerMetadata: { anthropic: { signature: 'c2ln' } } },
    { type: 'text', text: 'Found.', state: 'done' },
    {
      type: 'dynamic-tool',
      toolName: 'web_search',
      state: 'output-available',
      input: { q: 'a' },
      output: [{ url: 'https://a.example' }],
      callProviderMetadata: mine,
    },
    { type: 'dynamic-tool', toolCallId: 'p2', state: 'output-error', errorText: '{"code":7}' },
    { type: 'source-url', sourceId: 's1', title: 'A', providerMetadata: mine },
    { type: 'source-document', sourceId: 's2', mediaType: 'application/pdf' },
    { type: 'file', url: 'https://a.example/f', providerMetadata: mine },
  ]);
});

it('tells pages of version 5 of a request for approval by data', async () => {
  const asked = { type: 'permission.required', calls: [{ ...read, approvalId: 'a1', askedAt: '' }] } as const;
  const { types, message } = await told(eventsOf(started(1), completed(1, [read]), asked), { version: 5 });
  expect(types).not.toContain('tool-approval-request');
  expect(message?.parts.at(-1)).toEqual({
    type: 'data-approval',
    data: { approvalId: 'a1', toolCallId: 'call-1' },
  });
});
