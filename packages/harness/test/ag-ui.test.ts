import { transformChunks, verifyEvents } from '@ag-ui/client';
import { type AgentEvent, defineTool, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { from, lastValueFrom, toArray } from 'rxjs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { ToAgUiOptions } from '../src/ag-ui.js';
import { HarnessAgent, permissions, toAgUi } from '../src/index.js';
import { scratch } from './support.js';

const add = defineTool({
  name: 'add',
  description: 'Adds',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  readOnly: true,
  execute: ({ a, b }) => String(a + b),
});
const sent = defineTool({
  name: 'send',
  description: 'Sends',
  input: z.strictObject({}),
  execute: () => 'sent',
});

function agentOf(turns: ConstructorParameters<typeof ScriptedModel>[0]) {
  return HarnessAgent.builder()
    .model(new ScriptedModel(turns))
    .workspace(scratch())
    .use(permissions())
    .tools(add, sent)
    .build();
}

type Sent = { readonly type: string; readonly [field: string]: unknown };

/** What a page gets: the events, after the official client has put chunks together and found the order in keeping. */
async function page(events: AsyncIterable<AgentEvent>, options?: ToAgUiOptions): Promise<readonly Sent[]> {
  const raw: Sent[] = [];
  for await (const event of toAgUi(events, options)) raw.push(JSON.parse(JSON.stringify(event)));
  const source = from(raw as never[]);
  return (await lastValueFrom(
    source.pipe(transformChunks(false) as never, verifyEvents(false) as never, toArray()),
  )) as readonly Sent[];
}
const context = () => RuntimeContext.of({ sessionId: 's-1' });

it('tells a run of thoughts, words, calls and results in the order that the protocol asks for', async () => {
  const agent = agentOf([
    {
      thinking: 'Let me add.',
      text: 'Adding.',
      toolCalls: [{ id: 'c-1', name: 'add', input: { a: 1, b: 2 } }],
    },
    { text: 'It is 3.' },
  ]);
  const events = await page(agent.stream('1 + 2?', context()), { runId: 'run-1' });
  expect(events.at(0)).toMatchObject({ type: 'RUN_STARTED', threadId: 's-1', runId: 'run-1' });
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: { stopReason: 'completed' } });
  const deltas = (type: string) => events.filter((event) => event.type === type).map(({ delta }) => delta);
  expect(deltas('REASONING_MESSAGE_CONTENT').join('')).toBe('Let me add.');
  expect(deltas('TEXT_MESSAGE_CONTENT').join('')).toBe('Adding.It is 3.');
  expect(JSON.parse(deltas('TOOL_CALL_ARGS').join(''))).toEqual({ a: 1, b: 2 });
  expect(events.filter(({ type }) => type === 'TOOL_CALL_START')).toMatchObject([
    { toolCallId: 'c-1', toolCallName: 'add' },
  ]);
  expect(events.filter(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject([
    { toolCallId: 'c-1', content: '3' },
  ]);
});

it('tells what a person is to decide', async () => {
  const agent = agentOf([{ toolCalls: [{ id: 'c-1', name: 'send', input: {} }] }]);
  const events = await page(agent.stream('Send it', context()));
  expect(events).toContainEqual(expect.objectContaining({ type: 'CUSTOM', name: 'permission.required' }));
  expect(events.at(-1)).toMatchObject({
    type: 'RUN_FINISHED',
    result: { stopReason: 'permission_required', pendingCalls: [{ id: 'c-1', name: 'send' }] },
  });
});

it('ends a run with an output that JSON can hold', async () => {
  async function* events(): AsyncGenerator<AgentEvent> {
    const base = { sessionId: 's', agentId: 'a', callId: 'c', step: 1, at: '', seq: 1 };
    yield { ...base, type: 'call.started', resumed: false };
    yield { ...base, type: 'call.completed', stopReason: 'completed', output: { total: 1n } } as never;
  }
  expect((await page(events())).at(-1)?.result).toEqual({ stopReason: 'completed', output: { total: '1' } });
});

it('tells a failure in the words that it was given, and nothing of the server', async () => {
  const failing = () => agentOf([{ error: new Error('db at 10.0.0.7 is down') }]).stream('Hi', context());
  const events = await page(failing());
  expect(events.at(-1)).toEqual({ type: 'RUN_ERROR', code: 'internal', message: 'An error occurred.' });
  const worded = await page(failing(), { onError: () => 'Try later.' });
  expect(worded.at(-1)).toEqual({ type: 'RUN_ERROR', code: 'internal', message: 'Try later.' });
});

it('gives each draft of an answer a message of its own, and names the one that does not count', async () => {
  const base = { sessionId: 's', agentId: 'a', callId: 'c', step: 1, at: '', seq: 1 };
  const drafts = [
    { type: 'call.started', resumed: false },
    { type: 'text.delta', messageId: 'm', draft: 1, text: 'Wrong' },
    { type: 'draft.discarded', messageId: 'm', draft: 1, text: 'Wrong' },
    { type: 'text.delta', messageId: 'm', draft: 2, text: 'Right' },
  ].map((event) => ({ ...base, ...event }) as AgentEvent);
  async function* events() {
    yield* drafts;
  }
  const told = await page(events());
  expect(told.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT')).toMatchObject([
    { messageId: 'm', delta: 'Wrong' },
    { messageId: 'm-2', delta: 'Right' },
  ]);
  expect(told).toContainEqual({ type: 'CUSTOM', name: 'draft.discarded', value: { messageId: 'm' } });
});

it('tells an answer that is not streamed whole, behind a draft of it that was discarded', async () => {
  const base = { sessionId: 's', agentId: 'a', callId: 'c', step: 1, at: '', seq: 1 };
  const message = { id: 'm', role: 'assistant', content: [{ type: 'text', text: 'Right' }], createdAt: '' };
  const answered = [
    { type: 'call.started', resumed: false },
    { type: 'text.delta', messageId: 'm', draft: 1, text: 'Wrong' },
    { type: 'draft.discarded', messageId: 'm', draft: 1, text: 'Wrong' },
    { type: 'model.completed', message },
  ].map((event) => ({ ...base, ...event }) as unknown as AgentEvent);
  async function* events() {
    yield* answered;
  }
  const told = await page(events());
  expect(told.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT')).toMatchObject([
    { messageId: 'm', delta: 'Wrong' },
    { messageId: 'm-2', delta: 'Right' },
  ]);
});

it('tells each call before its result, also one that does not run or was discarded', async () => {
  const agent = agentOf([
    {
      toolCalls: [
        { id: 'c-1', name: 'final_answer', input: { total: 3 } },
        { id: 'c-2', name: 'add', input: { a: 1, b: 2 } },
      ],
    },
    { toolCalls: [{ id: 'c-3', name: 'final_answer', input: { total: 3 } }] },
  ]);
  const output = z.object({ total: z.number() });
  const events = await page(agent.stream('1 + 2?', context(), { output }));
  const idsOf = (type: string) =>
    events.filter((event) => event.type === type).map(({ toolCallId }) => toolCallId);
  // The streamed draft with the second call is discarded, because the text of the first was streamed.
  expect(idsOf('TOOL_CALL_START').toSorted()).toEqual(['c-1', 'c-2', 'c-2']);
  expect(idsOf('TOOL_CALL_RESULT').toSorted()).toEqual(['c-1', 'c-2', 'c-2']);
});

it('ends the agent’s call at once when its reader leaves', async () => {
  let end = () => {};
  const waiting = new Promise<IteratorResult<AgentEvent>>((resolve) => {
    end = () => resolve({ done: true, value: undefined });
  });
  const left: string[] = [];
  const silent = {
    [Symbol.asyncIterator]: () => ({
      next: () => waiting,
      return: async () => {
        left.push('left');
        end();
        return { done: true as const, value: undefined };
      },
    }),
  };
  const events = toAgUi(silent);
  const next = events.next();
  await events.return();
  expect(left).toEqual(['left']);
  expect((await next).done).toBe(true);
});
