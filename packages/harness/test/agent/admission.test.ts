import {
  defineTool,
  httpStatusOf,
  InMemorySession,
  type Model,
  RuntimeContext,
  SessionKey,
  textOf,
  toClientError,
} from '@x/core';
import { takeTurn } from '@x/core/internal';
import { ScriptedModel } from '@x/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Admission, type Ticket } from '../../src/agent/admission.js';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const keyOf = (user: string | undefined, tenantId = 't') =>
  SessionKey.of({ tenantId, agentId: 'a', sessionId: 's', ...(user === undefined ? {} : { userId: user }) });

/** The calls of an admission, by name, and how each stands. */
function line(settings: Partial<ConstructorParameters<typeof Admission>[0]>) {
  const admission = new Admission({ maxRunningCalls: 2, maxWaitingCalls: 2, perUser: 0, ...settings });
  const tickets = new Map<string, Ticket>();
  const stands = new Map<string, string>();
  return {
    admission,
    stands: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return Object.fromEntries(stands);
    },
    enter(name: string, user?: string, { tenant = 't', isFree = true } = {}) {
      try {
        const ticket = admission.enter(keyOf(user, tenant), isFree);
        tickets.set(name, ticket);
        stands.set(name, 'waits');
        ticket.placed.then(
          () => stands.set(name, 'runs'),
          (error) => stands.set(name, error.code),
        );
      } catch (error) {
        stands.set(name, (error as { code: string }).code);
      }
    },
    ready: (name: string) => tickets.get(name)?.ready(),
    leave(name: string) {
      tickets.get(name)?.leave();
      stands.delete(name);
    },
  };
}

describe('admission', () => {
  it('runs, keeps waiting, and refuses, in this order; a place that is free again goes to the first in line', async () => {
    const calls = line({});
    for (const name of ['a', 'b', 'c', 'd', 'e']) calls.enter(name, name);
    expect(await calls.stands()).toEqual({ a: 'runs', b: 'runs', c: 'waits', d: 'waits', e: 'overloaded' });
    calls.leave('b');
    expect(await calls.stands()).toMatchObject({ c: 'runs', d: 'waits' });
    expect([calls.admission.running, calls.admission.waiting, calls.admission.isFull]).toEqual([2, 1, false]);
  });

  it('gives no place to a call whose session is busy, and keeps one for it in line', async () => {
    const calls = line({});
    calls.enter('a', 'u', { isFree: false });
    calls.enter('b', 'v');
    expect(await calls.stands()).toEqual({ a: 'waits', b: 'runs' });
    calls.ready('a');
    expect(await calls.stands()).toEqual({ a: 'runs', b: 'runs' });
  });

  it('does not let one user take the places, running or waiting', async () => {
    const calls = line({ perUser: 1, maxWaitingCalls: 3 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) calls.enter(name, 'alice');
    expect(await calls.stands()).toEqual({
      a1: 'runs',
      a2: 'waits',
      a3: 'waits',
      a4: 'waits',
      a5: 'overloaded',
    });
    calls.enter('b1', 'bob');
    expect(await calls.stands()).toMatchObject({ b1: 'runs' });
    // The line is full, of Alice's: her last one goes.
    calls.enter('c1', 'carol');
    expect(await calls.stands()).toMatchObject({ a4: 'overloaded', c1: 'waits' });
    calls.leave('b1');
    expect(await calls.stands()).toMatchObject({ a2: 'waits', c1: 'runs' });
  });

  it('lets a tenant of many users take no more than its share while others wait', async () => {
    const calls = line({ maxRunningCalls: 4, maxWaitingCalls: 8 });
    for (let n = 0; n < 10; n++) calls.enter(`big${n}`, `user${n}`, { tenant: 'big' });
    for (let n = 0; n < 2; n++) calls.enter(`small${n}`, 'one', { tenant: 'small' });
    expect(await calls.stands()).toMatchObject({ small0: 'waits', small1: 'waits', big9: 'waits' });
    calls.leave('big0');
    calls.leave('big1');
    expect(await calls.stands()).toMatchObject({ small0: 'runs', small1: 'runs', big4: 'waits' });
  });

  it('never has more than its places, loses none, and forgets everybody in the end', () => {
    const step = fc.record({
      enters: fc.boolean(),
      user: fc.nat({ max: 3 }),
      tenant: fc.nat({ max: 1 }),
      which: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const admission = new Admission({ maxRunningCalls: 3, maxWaitingCalls: 4, perUser: 2 });
        const tickets: Ticket[] = [];
        for (const { enters, user, tenant, which } of steps) {
          if (enters) {
            try {
              tickets.push(admission.enter(keyOf(`u${user}`, `t${tenant}`), which % 3 > 0));
            } catch {}
          } else if (tickets.length > 0) {
            const [ticket] = tickets.splice(which % tickets.length, 1);
            if (which % 2 === 0) ticket?.leave();
            else tickets.push(ticket as Ticket);
            ticket?.ready();
          }
          expect(admission.running).toBeLessThanOrEqual(3);
          expect(admission.waiting).toBeLessThanOrEqual(4);
        }
        for (const ticket of tickets) ticket.leave();
        expect([admission.running, admission.waiting]).toEqual([0, 0]);
      }),
    );
  });
});

/** An agent whose model answers when it is told to. */
function held(settings: Parameters<ReturnType<typeof HarnessAgent.builder>['settings']>[0] = {}) {
  const answers: (() => void)[] = [];
  const model: Model = {
    id: 'held',
    async generate() {
      await new Promise<void>((resolve) => answers.push(resolve));
      return { content: [{ type: 'text', text: 'done' }], finishReason: 'stop' };
    },
  };
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .session(new InMemorySession())
    .settings(settings)
    .build();
  const asked = async (count: number) => {
    while (answers.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  const answerAll = () => {
    for (const answer of answers.splice(0)) answer();
  };
  return { agent, asked, answerAll };
}

const of = (sessionId: string, userId = sessionId) => RuntimeContext.of({ userId, sessionId });

describe('an agent with more calls than places', () => {
  it('refuses with a hint when to come again, stores nothing, and says whether it is ready', async () => {
    const { agent, asked, answerAll } = held({ maxRunningCalls: 1, maxWaitingCalls: 1 });
    const first = agent.call('one', of('a'));
    await asked(1);
    expect(agent.readiness()).toEqual({
      isReady: true,
      running: 1,
      waiting: 0,
      isDraining: false,
      isOverloaded: false,
    });
    const second = agent.call('two', of('b'));
    expect(agent.readiness()).toMatchObject({ isReady: false, waiting: 1, isOverloaded: true });
    const refused = await agent.call('three', of('c')).catch((error) => error);
    expect(refused).toMatchObject({ code: 'overloaded', retryAfterMs: expect.any(Number) });
    expect(refused.retryAfterMs).toBeGreaterThanOrEqual(1_000);
    expect(httpStatusOf(refused)).toBe(503);
    expect(toClientError(refused)).toMatchObject({ code: 'overloaded', retryAfterMs: refused.retryAfterMs });
    expect(await agent.state(of('c'))).toBeUndefined();
    answerAll();
    expect((await first).text).toBe('done');
    await asked(1);
    answerAll();
    expect((await second).text).toBe('done');
    expect(agent.readiness()).toMatchObject({ isReady: true, running: 0, waiting: 0 });
  });

  it('gives up a place in line when its caller aborts, and refuses the wait that is too long', async () => {
    const { agent, asked, answerAll } = held({ maxRunningCalls: 1, maxWaitingCalls: 1 });
    const first = agent.call('one', of('a'));
    await asked(1);
    const abort = new AbortController();
    const second = agent.call('two', of('b'), { signal: abort.signal });
    abort.abort();
    expect(await second).toMatchObject({ stopReason: 'interrupted', steps: 0 });
    const third = agent.call('three', of('c'), { limits: { queueMs: 1 } });
    await expect(third).rejects.toMatchObject({ code: 'overloaded' });
    const fourth = agent.call('four', of('a'), { limits: { queueMs: 1 } });
    await expect(fourth).rejects.toMatchObject({ code: 'lease_unavailable' });
    expect(agent.readiness()).toMatchObject({ running: 1, waiting: 0 });
    answerAll();
    await first;
  });

  it('lets others run while a call waits for a session that another process has', async () => {
    const store = new InMemorySession();
    const model = new ScriptedModel([{ text: 'other' }, { text: 'late' }]);
    const activities: string[] = [];
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .session(store)
      .settings({ maxRunningCalls: 1, maxWaitingCalls: 0 })
      .use({ name: 'watch', monitor: ({ type, callId }) => void activities.push(`${callId} ${type}`) })
      .build();
    const turn = await takeTurn(store, agent.keyOf(of('busy')));
    await new Promise<void>((onWait) => void agent.call('one', of('busy'), { onWait }));
    expect(agent.readiness()).toMatchObject({ running: 0, waiting: 1 });
    expect((await agent.call('two', of('free'))).text).toBe('other');
    await turn.release();
    await expect.poll(() => agent.readiness()).toMatchObject({ running: 0, waiting: 0 });
    expect((await agent.state(of('busy')))?.context.map(textOf)).toEqual(['one', 'late']);
    const [first = ''] = activities[0]?.split(' ') ?? [];
    const ofFirst = activities.flatMap((each) => (each.startsWith(first) ? each.split(' ')[1] : []));
    expect(ofFirst.filter((type) => type !== 'store.request')).toEqual([
      'call.queued',
      'call.placed',
      'turn.awaited',
      'call.placed',
      'turn.taken',
      'call.ended',
    ]);
  });

  it('refuses a call that gave its place back, where the agent closes', async () => {
    const store = new InMemorySession();
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([]))
      .workspace(scratch())
      .session(store)
      .build();
    const turn = await takeTurn(store, agent.keyOf(of('busy')));
    let call: Promise<unknown> = Promise.resolve();
    await new Promise<void>((onWait) => {
      call = agent.call('one', of('busy'), { onWait });
      call.catch(() => {});
    });
    await agent.close({ drainMs: 0 });
    await expect(call).rejects.toMatchObject({ code: 'agent_closed' });
    expect(agent.readiness()).toMatchObject({ running: 0, waiting: 0 });
    await turn.release();
  });

  it('lets a running call call the agent again, though all places are taken', async () => {
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'ask', input: {} }] },
      { text: 'inner' },
      { text: 'outer' },
    ]);
    const agent: HarnessAgent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .session(new InMemorySession())
      .settings({ maxRunningCalls: 1, maxWaitingCalls: 0 })
      .tools(
        defineTool({
          name: 'ask',
          description: '',
          input: z.object({}),
          execute: async (_, { runtime }) => {
            const inner = RuntimeContext.builder(runtime).sessionId('inner').build();
            return (await agent.call('Hi', inner)).text;
          },
        }),
      )
      .build();
    expect((await agent.call('Hi', of('outer'))).text).toBe('outer');
  });

  it('ends every call of a burst: done, or refused', async () => {
    const count = 700;
    const model: Model = {
      id: 'quick',
      generate: async () => ({ content: [{ type: 'text', text: 'done' }], finishReason: 'stop' }),
    };
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .session(new InMemorySession())
      .settings({ maxRunningCalls: 50, maxWaitingCalls: 500 })
      .build();
    const calls = Array.from({ length: count }, (_, n) => agent.call('Hi', of(`s${n}`, `u${n % 7}`)));
    const ends = (await Promise.allSettled(calls)).map((end) =>
      end.status === 'fulfilled' ? end.value.text : end.reason.code,
    );
    const done = ends.filter((end) => end === 'done');
    expect(done).toHaveLength(Math.min(count, 550));
    expect(ends.filter((end) => end === 'overloaded')).toHaveLength(count - done.length);
  });
});
