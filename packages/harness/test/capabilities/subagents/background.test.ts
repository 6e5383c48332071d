import { cpSync } from 'node:fs';
import {
  defineTool,
  InMemorySession,
  openSession,
  RuntimeContext,
  SessionKey,
  SessionLeaseError,
  SessionStoreError,
  textOf,
} from '@x/core';
import { strangersIn, takeTurn } from '@x/core/internal';
import { JsonSession } from '@x/core/node';
import { wrapStore } from '@x/core/store';
import { takeLease } from '@x/test-support';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { SubagentsConfig } from '../../../src/capabilities/subagents/members.js';
import {
  type ExecuteTask,
  type SubagentDefinition,
  type SubagentTask,
  subagents,
  subagentTasks,
  type TaskOrder,
  type TaskRunner,
} from '../../../src/index.js';
import { isPaired, scratch } from '../../support.js';
import { announced, blocksOf, context, held, parentWith, resultsOf, TestClock, until } from './support.js';

const owner = SessionKey.of({ userId: 'alice', agentId: 'lead', sessionId: 's-1' });
const background = {
  toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work', background: true } }],
};

/** The model starts a task, and waits for its result as soon as the task runs. */
function waiting({ started }: ReturnType<typeof held>): ConstructorParameters<typeof ScriptedModel>[0] {
  return [
    background,
    async () => {
      await started;
      return { toolCalls: [{ name: 'wait_async_results', input: {} }] };
    },
  ];
}

function worker(model: ScriptedModel): SubagentDefinition {
  return { name: 'worker', description: 'Works', model };
}

function tasksIn(root: string): Promise<readonly SubagentTask[]> {
  return subagentTasks(new JsonSession({ directory: `${root}/json` }), owner);
}

async function statusIn(root: string): Promise<string | undefined> {
  return (await tasksIn(root))[0]?.status;
}

function lead(model: ScriptedModel, child: ScriptedModel, root: string, config: SubagentsConfig = {}) {
  return parentWith(model, subagents([worker(child)], config))
    .workspace(root)
    .session(new JsonSession({ directory: `${root}/json` }));
}

describe('a task in the background', () => {
  it('goes on after the reply, and its end is told in exactly one view', async () => {
    const root = scratch();
    const work = held();
    const model = new ScriptedModel([
      background,
      { text: 'begun' },
      { text: 'A' },
      { text: 'B' },
      { text: 'C' },
    ]);
    const changes: string[] = [];
    const agent = lead(model, new ScriptedModel([work.reply]), root)
      .onEvent((event) => event.type === 'task.changed' && changes.push(event.status))
      .build();
    await agent.call('go', context);
    await work.started;
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain('running');
    await agent.call('still there?', context);
    expect(announced(model.requests[2]?.messages ?? [])).toBe('');

    work.release('THE RESULT');
    await until(() => changes.includes('completed'));
    expect(await statusIn(root)).toBe('completed');
    await agent.call('and now?', context);
    await agent.call('and then?', context);
    expect(announced(model.requests[3]?.messages ?? [])).toContain('THE RESULT');
    expect(announced(model.requests[4]?.messages ?? [])).toBe('');
    const state = await agent.state(context);
    const messages = state?.context ?? [];
    expect(JSON.stringify(messages)).not.toContain('THE RESULT');
    // The turn that was shown the result counts as one that has read text of others, the next one does not.
    expect([strangersIn(messages.slice(0, -2)), strangersIn(messages)]).toEqual([
      ['memory and reminders'],
      [],
    ]);
    await agent.close();
  });

  it('is told once also across a restart, and again when the step that saw it was lost', async () => {
    const root = scratch();
    const first = lead(
      new ScriptedModel([background, { text: 'begun' }]),
      new ScriptedModel([{ text: 'RESULT' }]),
      root,
    ).build();
    await first.call('go', context);
    await until(async () => (await statusIn(root)) === 'completed');
    await first.close();

    const none = new ScriptedModel([]);
    const failing = new ScriptedModel([{ error: new Error('down') }]);
    const second = lead(failing, none, root).build();
    await expect(second.call('a', context)).rejects.toThrow('down');
    expect(announced(failing.requests[0]?.messages ?? [])).toContain('RESULT');
    await second.close();

    const model = new ScriptedModel([{ text: 'b' }, { text: 'c' }]);
    const third = lead(model, none, root).build();
    await third.call('b', context);
    expect(announced(model.requests[0]?.messages ?? [])).toContain('RESULT');
    await third.close();
    const last = new ScriptedModel([{ text: 'd' }]);
    const fourth = lead(last, none, root).build();
    await fourth.call('d', context);
    expect(announced(last.requests[0]?.messages ?? [])).toBe('');
    await fourth.close();
  });

  it('is told within a call as soon as it has ended', async () => {
    const changes: string[] = [];
    const work = held();
    const root = scratch();
    const nothing = { toolCalls: [{ name: 'agent_spawn', input: { agent: 'nobody', task: 'None' } }] };
    const model = new ScriptedModel([
      background,
      async () => {
        work.release('EARLY');
        await until(() => changes.includes('completed'));
        return nothing;
      },
      nothing,
      { text: 'ok' },
    ]);
    const agent = lead(model, new ScriptedModel([work.reply]), root)
      .onEvent((event) => event.type === 'task.changed' && changes.push(event.status))
      .build();
    await agent.call('go', context);
    expect(changes).toEqual(['running', 'completed']);
    const views = model.requests.map(({ messages }) => announced(messages).includes('EARLY'));
    expect(views).toEqual([false, false, true, false]);
    for (const { messages } of model.requests) expect(isPaired(messages)).toBe(true);
    await agent.close();
  });

  it('is not told again when a tool has returned its result', async () => {
    const work = held();
    const root = scratch();
    const model = new ScriptedModel([
      background,
      () => {
        work.release('ONCE');
        return { toolCalls: [{ name: 'wait_async_results', input: {} }] };
      },
      { text: 'ok' },
      { text: 'later' },
    ]);
    const agent = lead(model, new ScriptedModel([work.reply]), root).build();
    await agent.call('go', context);
    await agent.call('more', context);
    expect(resultsOf(model.requests[2]?.messages ?? [], 'wait_async_results')[0]).toContain('ONCE');
    for (const { messages } of model.requests) expect(announced(messages)).toBe('');
    await agent.close();
  });

  it('is what a call becomes that takes longer than the model would wait', async () => {
    const work = held();
    const root = scratch();
    const slow = {
      toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work', timeoutMs: 1 } }],
    };
    const model = new ScriptedModel([
      slow,
      ({ messages }) => {
        const [result = ''] = resultsOf(messages, 'agent_spawn');
        const taskId = /\[(worker-\w+): /.exec(result)?.[1] ?? '';
        work.release('LATE');
        return {
          toolCalls: [{ name: 'wait_async_results', input: { taskIds: [taskId], timeoutMs: 60_000 } }],
        };
      },
      { text: 'ok' },
    ]);
    const agent = lead(model, new ScriptedModel([work.reply]), root).build();
    await agent.call('go', context);
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain(
      'continues in the background',
    );
    expect(resultsOf(model.requests[2]?.messages ?? [], 'wait_async_results')[0]).toContain('LATE');
    await agent.close();
  });

  it('stops when it is cancelled, and its subagent can go on', async () => {
    const work = held();
    const root = scratch();
    const idOf = (pattern: RegExp, text = '') => pattern.exec(text)?.[1] ?? '';
    const model = new ScriptedModel([
      background,
      async ({ messages }) => {
        await work.started;
        const taskId = idOf(/\[(worker-\w+): /, resultsOf(messages, 'agent_spawn')[0]);
        return { toolCalls: [{ name: 'task_cancel', input: { taskId } }] };
      },
      ({ messages }) => {
        const agentId = idOf(/\[(worker-\w+): /, resultsOf(messages, 'agent_spawn')[0]);
        return { toolCalls: [{ name: 'agent_spawn', input: { agent: agentId, task: 'Go on' } }] };
      },
      { text: 'ok' },
    ]);
    const child = new ScriptedModel([work.reply, { text: 'went on' }]);
    const agent = lead(model, child, root).build();
    await agent.call('go', context);
    expect(resultsOf(model.requests[2]?.messages ?? [], 'task_cancel')[0]).toContain('cancelled');
    expect(resultsOf(model.requests[3]?.messages ?? [], 'agent_spawn').at(-1)).toContain('went on');
    expect((await tasksIn(root)).map(({ status }) => status)).toEqual(['completed']);
    await agent.close();
  });
});

describe('interruption and shutdown', () => {
  it('interrupting the parent interrupts the subagent that it waits for, and no other', async () => {
    const root = scratch();
    const [waited, apart] = [held(), held()];
    const child = new ScriptedModel([apart.reply, waited.reply]);
    const model = new ScriptedModel([
      background,
      async () => {
        // The first call of the worker's model is the first task's.
        await apart.started;
        return { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Wait' } }] };
      },
    ]);
    const agent = lead(model, child, root).build();
    const call = agent.call('go', context);
    await waited.started;
    agent.interrupt(context);
    const reply = await call;
    expect(reply.stopReason).toBe('interrupted');
    await until(async () => (await tasksIn(root))[1]?.status === 'cancelled');
    expect((await tasksIn(root))[0]?.status).toBe('running');
    apart.release('still worked');
    await until(async () => (await statusIn(root)) === 'completed');
    await agent.close();
  });

  it('interrupting the parent interrupts a subagent in the background if the parent waits for it', async () => {
    const root = scratch();
    const work = held();
    const model = new ScriptedModel(waiting(work));
    const agent = lead(model, new ScriptedModel([work.reply]), root)
      .onEvent(
        (event) =>
          event.type === 'tool.call' && event.call.name !== 'agent_spawn' && agent.interrupt(context),
      )
      .build();
    expect((await agent.call('go', context)).stopReason).toBe('interrupted');
    await until(async () => (await statusIn(root)) === 'cancelled');
    await agent.close();
  });

  it('leaves background tasks to the process that takes the session while the parent waits for them', async () => {
    const inner = new InMemorySession();
    const { leases } = inner;
    let isSilent = false;
    const beat: typeof leases.processes.beat = async (...given) => {
      if (isSilent) throw new Error('no answer');
      return leases.processes.beat(...given);
    };
    const store = wrapStore(inner, {
      leases: { ...leases, processes: { ...leases.processes, beat } },
    });
    const work = held();
    const model = new ScriptedModel(waiting(work));
    const agent = lead(model, new ScriptedModel([work.reply]), scratch())
      .session(store)
      .settings({ processTtlMs: 20 })
      .onEvent(async (event) => {
        if (event.type === 'tool.call' && event.call.name === 'wait_async_results') isSilent = true;
        if (event.type !== 'turn.uncertain') return;
        const lease = await inner.leases.find(owner);
        await takeLease(inner, owner, { over: lease?.fence });
        isSilent = false;
      })
      .build();
    await expect(agent.call('go', context)).rejects.toMatchObject({ code: 'lease_lost' });
    expect((await subagentTasks(inner, owner))[0]?.status).toBe('running');
    work.release('RESULT');
    await until(async () => (await subagentTasks(inner, owner))[0]?.status === 'completed');
    await agent.close();
  });

  it('closing the agent does not wait for a store that does not respond', async () => {
    const root = scratch();
    const clock = new TestClock();
    const work = held();
    let isOut = false;
    const store = wrapStore(new JsonSession({ directory: `${root}/json` }), (inner) => ({
      async commit(key, change) {
        if (!isOut || key.parts.agentId === 'lead') return inner.commit(key, change);
        throw new SessionStoreError('session_unavailable', 'The store is out.', { outcome: 'unknown' });
      },
    }));
    const child = new ScriptedModel([work.reply]);
    const model = new ScriptedModel([background, { text: 'begun' }]);
    const settings = { limits: { outageMs: 1 } };
    const agent = lead(model, child, root, { clock, settings }).session(store).build();
    await agent.call('go', context);
    await work.started;
    isOut = true;
    work.release('RESULT');
    await until(() => clock.sleeping > 0);
    await agent.close();
    expect((await tasksIn(root))[0]?.status).not.toBe('completed');
  });

  it('fails where it meets the lease of another session than its own', async () => {
    const root = scratch();
    const lost = new SessionLeaseError('lease_lost', 'Another process has it.', { sessionKey: '//helper/x' });
    const child = new ScriptedModel([() => Promise.reject(lost)]);
    const agent = lead(new ScriptedModel([background, { text: 'begun' }]), child, root).build();
    await agent.call('go', context);
    await until(async () => (await statusIn(root)) === 'failed');
    expect((await tasksIn(root))[0]?.error).toContain('Another process has it.');
    await agent.close();
  });

  it('close() stops what runs, records it, and another process goes on with it', async () => {
    const root = scratch();
    const work = held();
    const first = lead(
      new ScriptedModel([background, { text: 'begun' }]),
      new ScriptedModel([work.reply]),
      root,
    ).build();
    await first.call('go', context);
    await work.started;
    await first.close({ drainMs: 0 });
    const [record] = await tasksIn(root);
    expect(record).toMatchObject({ status: 'failed' });
    expect(record?.error).toContain('call agent_spawn with its id');

    const model = new ScriptedModel([
      { toolCalls: [{ name: 'agent_spawn', input: { agent: record?.taskId ?? '', task: 'Go on' } }] },
      { text: 'ok' },
    ]);
    const child = new ScriptedModel([{ text: 'DONE' }]);
    const second = lead(model, child, root).build();
    await second.call('again', context);
    expect(announced(model.requests[0]?.messages ?? [])).toContain('shut down');
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn').at(-1)).toContain('DONE');
    expect(child.requests[0]?.messages.map((message) => textOf(message))).toEqual(['Work', 'Go on']);
    await second.close();
  });

  it('a task runs while some process has the turn of its session, and has failed when none has', async () => {
    const root = scratch();
    const clock = new TestClock();
    const store = new JsonSession({ directory: `${root}/json` });
    // Its process was killed: nothing of it is left but the session as its last step stored it.
    const key = SessionKey.of({ userId: 'alice', agentId: 'lead/worker', sessionId: 's-1/worker-1' });
    const dead = await openSession(store, key);
    await dead.commit();
    const session = await openSession(store, owner);
    const createdAt = new Date(clock.now()).toISOString();
    const given = {
      ...{ taskId: 'worker-1', subagent: 'worker', task: 'Work', callId: 'm', createdAt },
      told: 'running',
    };
    session.state.extensions.subagents = { tasks: [{ ...given, begins: 'running', pendingMs: 10_000 }] };
    await session.commit();
    const turn = await takeTurn(store, key);

    const model = new ScriptedModel([{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
    const agent = lead(model, new ScriptedModel([]), root, { clock }).build();
    clock.pass(Date.now() + 60_000 - clock.now());
    await agent.call('a', context);
    expect(announced(model.requests[0]?.messages ?? [])).toBe('');
    await turn.release();
    await agent.call('b', context);
    expect(announced(model.requests[1]?.messages ?? [])).toContain('shut down or died');
    await agent.call('c', context);
    expect(announced(model.requests[2]?.messages ?? [])).toBe('');
    await agent.close();
  });

  it('a task that no process takes is taken for failed in time, and leaves its place to another', async () => {
    const root = scratch();
    const clock = new TestClock();
    const runner: TaskRunner = {
      attach() {},
      submit: async () => {},
      close: (stop) => stop(),
    };
    const model = new ScriptedModel([
      background,
      { text: 'begun' },
      background,
      { text: 'full' },
      background,
      { text: 'ok' },
    ]);
    const agent = lead(model, new ScriptedModel([]), root, {
      clock,
      runner,
      maxRunning: 1,
      pendingMs: 10_000,
    }).build();
    await agent.call('a', context);
    await agent.call('b', context);
    expect(resultsOf(model.requests[3]?.messages ?? [], 'agent_spawn').at(-1)).toContain(
      'which is the limit',
    );
    clock.pass(11_000);
    await agent.call('c', context);
    expect(announced(model.requests[4]?.messages ?? [])).toContain('No process started the task in time');
    expect(resultsOf(model.requests[5]?.messages ?? [], 'agent_spawn').at(-1)).toContain('pending');
    await agent.close();
  });

  it('a call that gave work is told as one that may have begun, when its process is killed', async () => {
    const root = scratch();
    const copy = scratch();
    const work = held();
    const edit = defineTool({
      name: 'edit',
      description: 'Edits',
      input: z.strictObject({}),
      execute: () => 'edited',
    });
    const spawn = { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work' } }] };
    const first = lead(
      new ScriptedModel([{ toolCalls: [{ name: 'edit', input: {} }] }, spawn, { text: 'ok' }]),
      new ScriptedModel([work.reply]),
      root,
    )
      .tools(edit)
      .build();
    const call = first.call('go', context);
    await work.started;
    // All that a killed process leaves.
    cpSync(root, copy, { recursive: true });
    work.release('done');
    await call;
    const model = new ScriptedModel([{ text: 'ok' }]);
    const second = lead(model, new ScriptedModel([]), copy).tools(edit).build();
    await second.call('go on', context);
    expect(resultsOf(model.requests[0]?.messages ?? [], 'agent_spawn')).toEqual([
      expect.stringContaining('may or may not have taken effect'),
    ]);
    await Promise.all([first.close({ drainMs: 0 }), second.close({ drainMs: 0 })]);
  });

  it('is stopped by another process through its session', async () => {
    const root = scratch();
    const work = held();
    const config = { pollMs: 5 };
    const agent = lead(
      new ScriptedModel([background, { text: 'begun' }]),
      new ScriptedModel([work.reply]),
      root,
      config,
    ).build();
    await agent.call('go', context);
    await work.started;
    const [record] = await tasksIn(root);
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'task_cancel', input: { taskId: record?.taskId ?? '' } }] },
      { text: 'ok' },
    ]);
    const other = lead(model, new ScriptedModel([]), root, config).build();
    await other.call('stop it', context);
    expect(resultsOf(model.requests[1]?.messages ?? [], 'task_cancel')[0]).toMatch(
      /another process|cancelled/,
    );
    await until(async () => (await statusIn(root)) === 'cancelled');
    await Promise.all([agent.close(), other.close()]);
  });
});

describe('an order in a queue', () => {
  /** A queue that a test delivers from. */
  function queue() {
    const orders: TaskOrder[] = [];
    let deliver: ExecuteTask = () => Promise.reject(new Error('No agent is attached.'));
    const runner: TaskRunner = {
      attach: (_, execute) => {
        deliver = execute;
      },
      submit: async (order) => {
        orders.push(order);
      },
      close: (stop) => stop(),
    };
    const first = () => orders[0] ?? expect.unreachable('No order was submitted.');
    return { runner, first, deliver: (order: TaskOrder) => deliver(order) };
  }

  it('that is delivered again where it runs is carried out once', async () => {
    const root = scratch();
    const work = held();
    const { runner, first, deliver } = queue();
    const child = new ScriptedModel([work.reply]);
    const config = { runner, settings: { limits: { queueMs: 1 } } };
    const agent = lead(new ScriptedModel([background, { text: 'begun' }]), child, root, config).build();
    await agent.call('go', context);
    const one = deliver(first());
    await work.started;
    const two = deliver(first());
    work.release('RESULT');
    expect(await Promise.all([one, two])).toEqual(['ended', 'ended']);
    expect(await tasksIn(root)).toMatchObject([{ status: 'completed', result: 'RESULT' }]);
    expect(child.requests).toHaveLength(1);
    await agent.close();
  });

  it('that is delivered while another process carries it out goes back, and harms nothing', async () => {
    const root = scratch();
    const work = held();
    const one = queue();
    const two = queue();
    const limits = { queueMs: 1 };
    const model = new ScriptedModel([background, { text: 'begun' }]);
    const child = new ScriptedModel([work.reply]);
    const agent = lead(model, child, root, { runner: one.runner, settings: { limits } }).build();
    const config = { runner: two.runner, settings: { limits } };
    const other = lead(new ScriptedModel([]), new ScriptedModel([]), root, config).build();
    await agent.call('go', context);
    const end = one.deliver(one.first());
    await work.started;
    expect(await two.deliver(one.first())).toBe('again');
    expect(await statusIn(root)).toBe('running');
    work.release('RESULT');
    expect(await end).toBe('ended');
    expect(await tasksIn(root)).toMatchObject([{ status: 'completed', result: 'RESULT' }]);
    await Promise.all([agent.close(), other.close()]);
  });

  it('is not lost, nor begun again, while the store does not respond', async () => {
    const root = scratch();
    const clock = new TestClock();
    let isOut = true;
    const store = wrapStore(new JsonSession({ directory: `${root}/json` }), (inner) => ({
      async load(key, options) {
        if (!isOut || key.parts.agentId === 'lead') return inner.load(key, options);
        throw new SessionStoreError('session_unavailable', 'The store is out.', { outcome: 'unknown' });
      },
    }));
    const { runner } = queue();
    const model = new ScriptedModel([background, { text: 'begun' }, { text: 'next' }]);
    const config = { runner, clock };
    const agent = lead(model, new ScriptedModel([]), root, config).session(store).build();
    const call = agent.call('go', context);
    await until(() => clock.sleeping === 1);
    isOut = false;
    clock.pass(1_000);
    expect((await call).text).toBe('begun');
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain('pending');
    isOut = true;
    const next = agent.call('and now?', context);
    await until(() => clock.sleeping === 1);
    isOut = false;
    clock.pass(1_000);
    expect((await next).text).toBe('next');
    await agent.close();
  });

  it.each([true, false])('has its time to come to another process: comes %s', async (comes) => {
    const root = scratch();
    const clock = new TestClock();
    const store = new JsonSession({ directory: `${root}/json` });
    // Killed in a step that took longer than an order may wait.
    await (
      await openSession(
        store,
        SessionKey.of({ ...owner.parts, agentId: 'lead/worker', sessionId: 's-1/worker-1' }),
      )
    ).commit();
    const session = await openSession(store, owner);
    const order = { taskId: 'worker-1', subagent: 'worker', callId: 'm' };
    const createdAt = new Date(clock.now()).toISOString();
    const given = {
      ...order,
      task: 'Work',
      createdAt,
      begins: 'pending',
      told: 'pending',
      pendingMs: 10_000,
    };
    session.state.extensions.subagents = { tasks: [given] };
    await session.commit();
    const { runner, deliver } = queue();
    const model = new ScriptedModel([{ text: 'a' }, { text: 'b' }]);
    const agent = lead(model, new ScriptedModel([{ text: 'RESULT' }]), root, { clock, runner }).build();
    clock.pass(Date.now() + 60_000 - clock.now());
    // Whoever only reads gives nobody up.
    expect(await statusIn(root)).toBe('pending');
    await agent.call('a', context);
    expect(announced(model.requests[0]?.messages ?? [])).toBe('');
    expect(await statusIn(root)).toBe('pending');
    if (comes) await deliver({ ...order, owner: owner.toString(), message: 'Work' });
    clock.pass(11_000);
    await agent.call('b', context);
    const told = announced(model.requests[1]?.messages ?? []);
    expect(told).toContain(comes ? 'RESULT' : 'shut down or died');
    expect(await statusIn(root)).toBe(comes ? 'completed' : 'failed');
    await agent.close();
  });
});

it('is named once to a model whose call that started it has no result, as after a crash', async () => {
  const root = scratch();
  const clock = new TestClock();
  clock.pass(Date.now() - clock.now());
  const session = await openSession(new JsonSession({ directory: `${root}/json` }), owner);
  const given = {
    ...{ taskId: 'worker-1', subagent: 'worker', task: 'Work', callId: 'm' },
    ...{ createdAt: new Date(clock.now()).toISOString(), begins: 'running', pendingMs: 10_000 },
  };
  session.state.extensions.subagents = { tasks: [given] };
  await session.commit();
  const model = new ScriptedModel([{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
  const agent = lead(model, new ScriptedModel([]), root, { clock }).build();
  await agent.call('a', context);
  await agent.call('b', context);
  clock.pass(11_000);
  await agent.call('c', context);
  const told = model.requests.map(({ messages }) => announced(messages));
  expect(told[0]).toContain('[worker-1: running]');
  expect(told[1]).toBe('');
  expect(told[2]).toContain('[worker-1: failed]');
  await agent.close();
});

describe('two parents', () => {
  it('neither sees, waits for nor cancels the tasks of the other', async () => {
    const work = held();
    const root = scratch();
    const bob = RuntimeContext.of({ userId: 'bob', sessionId: 's-1' });
    let taskId = '';
    const model = new ScriptedModel([
      background,
      { text: 'begun' },
      () => ({
        toolCalls: [
          { name: 'wait_async_results', input: { timeoutMs: 0 } },
          { name: 'wait_async_results', input: { taskIds: [taskId], timeoutMs: 0 } },
          { name: 'task_cancel', input: { taskId } },
        ],
      }),
      { text: 'ok' },
    ]);
    const agent = lead(model, new ScriptedModel([work.reply]), root).build();
    await agent.call('go', context);
    taskId = (await tasksIn(root))[0]?.taskId ?? '';
    await agent.call('spy', bob);
    const seen = model.requests[3]?.messages ?? [];
    expect(resultsOf(seen, 'wait_async_results')[0]).toContain('No task is running');
    for (const tool of ['wait_async_results', 'task_cancel']) {
      const block = blocksOf(seen, tool).at(-1);
      expect(block?.isError).toBe(true);
      expect(textOf(block ? [block] : [])).toContain('There is no task');
    }
    expect(await statusIn(root)).toBe('running');
    await agent.close({ drainMs: 0 });
  });
});
