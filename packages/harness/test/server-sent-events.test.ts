import type { AgentEvent } from '@x/core';
import { expect, it } from 'vitest';
import { serverSentEvents } from '../src/index.js';

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
    yield warning('two\nlines');
    yield {
      type: 'call.failed',
      callId: 'c',
      error: new Error('lost'),
      sessionId: 's',
      at,
      seq: 8,
    } as AgentEvent;
  }
  const response = serverSentEvents(events(), { heartbeatMs: 0 });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const parts = (await response.text()).trimEnd().split('\n\n');
  expect(parts.map((part) => part.split('\n').slice(0, 2).join())).toEqual([
    'id: 7,event: warning',
    'id: 8,event: call.failed',
  ]);
  const data = parts.map((part) => JSON.parse(part.split('\ndata: ')[1] ?? ''));
  expect(data).toMatchObject([{ message: 'two\nlines' }, { error: 'lost' }]);
});

it.each([0, Number.NaN, Number.POSITIVE_INFINITY, -1])(
  'sends no pings with %d between them',
  async (heartbeatMs) => {
    async function* events() {
      yield warning('only');
    }
    expect(await serverSentEvents(events(), { heartbeatMs }).text()).not.toContain('ping');
  },
);

it('refuses what is no stream', () => {
  expect(() => serverSentEvents('x' as never)).toThrow('must be a stream of events: agent.stream(');
});

it('tells of a failure of the stream, and closes the stream of a reader who goes away', async () => {
  async function* failing(): AsyncGenerator<AgentEvent> {
    yield warning('first');
    throw new Error('The store is gone.');
  }
  expect(await serverSentEvents(failing(), { heartbeatMs: 0 }).text()).toContain(
    'event: error\ndata: {"message":"The store is gone."}',
  );

  let closed = false;
  async function* endless() {
    try {
      for (;;) yield warning('again');
    } finally {
      closed = true;
    }
  }
  const reader = serverSentEvents(endless()).body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(closed).toBe(true);
});

it('begins with a sign of life, and sends what is no event of an agent as it is', async () => {
  async function* events() {
    yield { id: 'p-1', data: { type: 'todos.changed' } };
  }
  const text = await serverSentEvents(events()).text();
  expect(text).toBe('retry: 1000\nevent: ping\ndata:\n\nid: p-1\ndata: {"type":"todos.changed"}\n\n');
});

it('goes on behind an event that no JSON can hold', async () => {
  async function* events() {
    yield Object.assign(warning('odd'), { n: 1n });
    yield warning('behind');
  }
  const sent = await serverSentEvents(events(), { heartbeatMs: 0 }).text();
  expect(sent).toMatch(
    /id: 7\nevent: warning\ndata: \{"message":"This event cannot be sent: .*BigInt.*"message":"behind"/s,
  );
});

it('closes what it can read no more', async () => {
  let closed = 0;
  const events = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: false, value: null }),
      return: async () => ({ done: true, value: closed++ }),
    }),
  };
  const response = serverSentEvents(events as never, { heartbeatMs: 0 });
  expect(await response.text()).toContain('event: error');
  expect(closed).toBe(1);
});
