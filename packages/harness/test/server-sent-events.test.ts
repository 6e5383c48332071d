import { type AgentEvent, assistantMessage, toolResultMessage } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { HarnessAgent, HarnessError, serverSentEvents } from '../src/index.js';
import { scratch } from './support.js';

const at = '2026-01-01T00:00:00.000Z';
const warning = (message: string): AgentEvent => ({
  type: 'warning',
  source: 'test',
  message,
  sessionId: 's',
  agentId: 'a',
  callId: 'c',
  step: 1,
  at,
  seq: 7,
});

it('names each event by its type, on one line of JSON, and ends with the stream', async () => {
  async function* events() {
    yield { ...warning(''), type: 'text.delta', text: 'two\nlines', messageId: 'm', draft: 1 } as AgentEvent;
    yield {
      type: 'call.failed',
      callId: 'c',
      error: new Error('lost'),
      sessionId: 's',
      at,
      seq: 8,
    } as AgentEvent;
  }
  const response = await serverSentEvents(events(), { heartbeatMs: 0 });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const parts = (await response.text()).trimEnd().split('\n\n');
  expect(parts.map((part) => part.split('\n').slice(0, 2).join())).toEqual([
    'id: c:7,event: text.delta',
    'id: c:8,event: call.failed',
  ]);
  const data = parts.map((part) => JSON.parse(part.split('\ndata: ')[1] ?? ''));
  expect(data).toMatchObject([
    { text: 'two\nlines' },
    { error: { code: 'internal', message: 'An error occurred.' } },
  ]);
});

it.each([0, Number.NaN, Number.POSITIVE_INFINITY, -1])(
  'sends no pings with %d between them',
  async (heartbeatMs) => {
    async function* events() {
      yield warning('only');
    }
    expect(await (await serverSentEvents(events(), { heartbeatMs })).text()).not.toContain('ping');
  },
);

it('refuses what is no stream', async () => {
  await expect(serverSentEvents('x' as never)).rejects.toThrow('must be a stream of events: agent.stream(');
});

it('tells of a failure of the stream, and closes the stream of a reader who goes away', async () => {
  async function* failing(): AsyncGenerator<AgentEvent> {
    yield warning('first');
    throw new Error('The store is gone.');
  }
  expect(await (await serverSentEvents(failing(), { heartbeatMs: 0 })).text()).toContain(
    'event: error\ndata: {"code":"internal","message":"An error occurred."}',
  );

  let closed = false;
  async function* endless() {
    try {
      for (;;) yield warning('again');
    } finally {
      closed = true;
    }
  }
  const reader = (await serverSentEvents(endless())).body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(closed).toBe(true);
});

it('begins with a sign of life, and sends what is no event of an agent as it is', async () => {
  async function* events() {
    yield { id: 'p-1', data: { type: 'todos.changed' } };
  }
  const text = await (await serverSentEvents(events())).text();
  expect(text).toBe('retry: 1000\nevent: ping\ndata:\n\nid: p-1\ndata: {"type":"todos.changed"}\n\n');
});

it('keeps names and ids on one line', async () => {
  async function* events() {
    yield { event: 'done\ndata: "forged"', id: '1\r\n\0event: forged', data: undefined };
  }
  const text = await (await serverSentEvents(events(), { heartbeatMs: 0 })).text();
  expect(text).toBe('id: 1 event: forged\nevent: done data: "forged"\ndata: null\n\n');
});

it('sends each message whole once, and says what ended', async () => {
  const message = assistantMessage('An answer.');
  const result = toolResultMessage({ id: 't', name: 'look' }, 'What I saw.');
  async function* events() {
    yield { ...warning(''), type: 'message.added', message } as AgentEvent;
    yield {
      ...warning(''),
      type: 'model.completed',
      message,
      finishReason: 'stop',
      durationMs: 1,
    } as AgentEvent;
    yield { ...warning(''), type: 'tool.result', result: result.content[0], durationMs: 1 } as AgentEvent;
    yield { ...warning(''), type: 'message.added', message: result } as AgentEvent;
  }
  const text = await (await serverSentEvents(events(), { heartbeatMs: 0 })).text();
  expect([text.split('An answer.').length, text.split('What I saw.').length]).toEqual([2, 2]);
  expect(text).toContain(`"messageId":"${message.id}"`);
  expect(text).toContain('"result":{"type":"tool_result","toolUseId":"t","toolName":"look","isError":false}');
});

it('says when it is worth to try again', async () => {
  const busy = new HarnessError('overloaded', 'No place is free.', { retryAfterMs: 1_200 });
  const answer = await serverSentEvents({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(busy) }),
  });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
});

it('waits for the first event no longer than a moment', async () => {
  const quiet = new Promise<never>(() => {});
  const events = {
    [Symbol.asyncIterator]: () => ({ next: () => quiet, return: async () => ({ done: true }) }),
  };
  const answer = await serverSentEvents(events as never);
  expect(answer.status).toBe(200);
  const reader = answer.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('ping');
  await reader?.cancel();
});

it('goes on behind an event that no JSON can hold', async () => {
  async function* events() {
    const odd = Object.assign(warning('odd'), { n: 1n });
    yield odd;
    yield Object.assign(warning('odd'), { odd: [odd], loop: {}, n: new Map() }, { toJSON: () => fails() });
    yield warning('behind');
  }
  const sent = await (await serverSentEvents(events(), { heartbeatMs: 0 })).text();
  expect(sent).toMatch(
    /"n":"1"\}\n\nid: c:7\nevent: warning\ndata: \{"code":"internal","message":"This event cannot be sent."\}\n\nid: c:7\n/,
  );
  function fails(): never {
    throw new Error('no');
  }
});

it('closes what it can read no more', async () => {
  let closed = 0;
  const events = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: false, value: null }),
      return: async () => ({ done: true, value: closed++ }),
    }),
  };
  const response = await serverSentEvents(events as never, { heartbeatMs: 0 });
  expect(await response.text()).toContain('event: error');
  expect(closed).toBe(1);
});

it('answers a request that says nothing with its error, as documented', async () => {
  const agent = HarnessAgent.builder().model(new ScriptedModel([])).workspace(scratch()).build();
  const response = await serverSentEvents(agent.stream(''), { heartbeatMs: 0 });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('"code":"invalid_input"');
  await expect(agent.stream('').reply).rejects.toMatchObject({ code: 'invalid_input' });
  await agent.close();
});
