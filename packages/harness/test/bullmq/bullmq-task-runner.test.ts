import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { SessionKey, type SessionStore, textOf } from '@x/core';
import { JsonSession } from '@x/core/node';
import { wrapStore } from '@x/core/store';
import { RedisSession, RedisWorkspace } from '@x/session-redis';
import { ScriptedModel } from '@x/testkit';
import { Redis } from 'ioredis';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { bundled } from '../../../../tooling/bundled.js';
import type { BullmqTaskRunnerOptions } from '../../src/bullmq/bullmq-task-runner.js';
import { bullmqTaskRunner } from '../../src/bullmq/index.js';
import { HarnessAgent, subagents, subagentTasks } from '../../src/index.js';
import { announced, context, held, resultsOf, until } from '../capabilities/subagents/support.js';
import { scratch } from '../support.js';

const owner = SessionKey.of({ userId: 'alice', agentId: 'lead', sessionId: 's-1' });
const background = {
  toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work', background: true } }],
};

/** Replicas of one agent: they share Redis, sessions and files, and nothing else. */
function replicas() {
  const queueName = `test-${randomUUID()}`;
  const keyPrefix = `test:${randomUUID()}:`;
  const client = new Redis(inject('redisUrl'));
  onTestFinished(() => client.disconnect());
  const workspace = new RedisWorkspace({ client, keyPrefix });
  const redis = new RedisSession({ client, keyPrefix });
  const start = (
    model: ScriptedModel,
    child: ScriptedModel,
    more: Partial<BullmqTaskRunnerOptions> = {},
    session: SessionStore = redis,
  ) => {
    const { hostname: host, port } = new URL(inject('redisUrl'));
    const runner = bullmqTaskRunner({ connection: { host, port: Number(port) }, queueName, ...more });
    const agent = HarnessAgent.builder()
      .name('lead')
      .model(model)
      .workspace(workspace)
      .session(session)
      .checkpoint('step')
      .use(
        subagents([{ name: 'worker', description: 'Works', model: child }], {
          runner,
          pollMs: 20,
        }),
      )
      .build();
    onTestFinished(() => agent.close());
    return agent;
  };
  return { start, redis, tasks: () => subagentTasks(redis, owner) };
}

describe('bullmqTaskRunner', () => {
  it('runs a task in another process with the same agent, whose answer is waited for', async () => {
    const { start } = replicas();
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work' } }] },
      { text: 'ok' },
    ]);
    const giver = start(model, new ScriptedModel([]), { concurrency: 0 });
    const child = new ScriptedModel([{ text: 'Done elsewhere.' }]);
    start(new ScriptedModel([]), child);
    const reply = await giver.call('go', context);
    expect(reply.text).toBe('ok');
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain('Done elsewhere.');
    expect(child.requests.map(({ messages }) => messages.map((message) => textOf(message)))).toEqual([
      ['Work'],
    ]);
  });

  it('tells the end once, whichever process the next call comes to', async () => {
    const { start, tasks } = replicas();
    const giver = start(
      new ScriptedModel([background, { text: 'begun' }]),
      new ScriptedModel([{ text: 'RESULT' }]),
    );
    await giver.call('go', context);
    await until(async () => (await tasks())[0]?.status === 'completed');
    const model = new ScriptedModel([{ text: 'a' }, { text: 'b' }]);
    const other = start(model, new ScriptedModel([]), { concurrency: 0 });
    await other.call('a', context);
    await other.call('b', context);
    expect(model.requests.map(({ messages }) => announced(messages).includes('RESULT'))).toEqual([
      true,
      false,
    ]);
  });

  it('passes a task on when its process shuts down, and the next one goes on where it was', async () => {
    const { start, tasks } = replicas();
    const work = held();
    const first = start(
      new ScriptedModel([background, { text: 'begun' }]),
      new ScriptedModel([
        { toolCalls: [{ name: 'wait_async_results', input: { timeoutMs: 0 } }] },
        work.reply,
      ]),
    );
    await first.call('go', context);
    await work.started;
    const child = new ScriptedModel([{ text: 'FINISHED' }]);
    start(new ScriptedModel([]), child);
    await first.close({ drainMs: 0 });
    await until(async () => (await tasks())[0]?.status === 'completed');
    expect((await tasks())[0]?.result).toBe('FINISHED');
    // It went on: the task was not given again, and the tool was not run again.
    expect(child.requests).toHaveLength(1);
    expect(child.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  it('passes on every task of a process that shuts down, and none comes back to it', async () => {
    const { start, tasks } = replicas();
    const both = { toolCalls: [...background.toolCalls, ...background.toolCalls] };
    const work = held();
    const first = start(
      new ScriptedModel([both, { text: 'begun' }]),
      new ScriptedModel([work.reply, work.reply]),
      { maxAttempts: 2 },
    );
    await first.call('go', context);
    await until(async () => (await tasks()).every(({ status }) => status === 'running'));
    await first.close({ drainMs: 0 });
    expect((await tasks()).map(({ status }) => status)).toEqual(['pending', 'pending']);
    start(new ScriptedModel([]), new ScriptedModel([{ text: 'ONE' }, { text: 'TWO' }]), { maxAttempts: 2 });
    await until(async () => (await tasks()).every(({ status }) => status === 'completed'));
  });

  it('passes each on once, also where one of them takes long to stop', async () => {
    const { start, redis, tasks } = replicas();
    const both = { toolCalls: [...background.toolCalls, ...background.toolCalls] };
    const work = held();
    let isClosing = false;
    // Longer than a task that was given back waits before it is begun again, and than those attempts together.
    const slow = wrapStore(redis, {
      commit: async (key, change) => {
        const isFirst = isClosing;
        isClosing = false;
        if (isFirst) await sleep(1_500);
        return redis.commit(key, change);
      },
    });
    // One of them has a step to store when it is stopped.
    const waits = { toolCalls: [{ name: 'wait_async_results', input: { timeoutMs: 0 } }] };
    const child = new ScriptedModel([waits, work.reply, work.reply]);
    const first = start(new ScriptedModel([both, { text: 'begun' }]), child, { maxAttempts: 2 }, slow);
    await first.call('go', context);
    await until(() => child.requests.length === 3);
    isClosing = true;
    await first.close({ drainMs: 0 });
    expect(isClosing).toBe(false);
    expect((await tasks()).map(({ status }) => status)).toEqual(['pending', 'pending']);
    start(new ScriptedModel([]), new ScriptedModel([{ text: 'ONE' }, { text: 'TWO' }]), { maxAttempts: 2 });
    await until(async () => (await tasks()).every(({ status }) => status === 'completed'));
  });

  it('stops a task that another process runs', async () => {
    const { start, tasks } = replicas();
    const work = held();
    const model = new ScriptedModel([
      background,
      ({ messages }) => {
        const [result = ''] = resultsOf(messages, 'agent_spawn');
        const taskId = /\[(worker-\w+): /.exec(result)?.[1] ?? '';
        return work.started.then(() => ({ toolCalls: [{ name: 'task_cancel', input: { taskId } }] }));
      },
      { text: 'ok' },
    ]);
    start(new ScriptedModel([]), new ScriptedModel([work.reply]));
    const giver = start(model, new ScriptedModel([]), { concurrency: 0 });
    await giver.call('go', context);
    await until(async () => (await tasks())[0]?.status === 'cancelled');
    expect(resultsOf(model.requests[2]?.messages ?? [], 'task_cancel')[0]).toMatch(/asked to stop|cancelled/);
  });

  it('does not begin a task that was cancelled while it waited', async () => {
    const { start, tasks } = replicas();
    const model = new ScriptedModel([
      background,
      ({ messages }) => {
        const [result = ''] = resultsOf(messages, 'agent_spawn');
        const taskId = /\[(worker-\w+): /.exec(result)?.[1] ?? '';
        return { toolCalls: [{ name: 'task_cancel', input: { taskId } }] };
      },
      { text: 'ok' },
      background,
      { text: 'ok' },
    ]);
    const giver = start(model, new ScriptedModel([]), { concurrency: 0 });
    await giver.call('go', context);
    expect((await tasks())[0]?.status).toBe('cancelled');
    await giver.call('another', context);
    const child = new ScriptedModel([{ text: 'only the second' }]);
    start(new ScriptedModel([]), child, { concurrency: 1 });
    await until(async () => (await tasks())[1]?.status === 'completed');
    expect(child.requests).toHaveLength(1);
  });

  it('goes on with the task of a process that was killed', async () => {
    const root = scratch();
    const queueName = `test-${randomUUID()}`;
    const program = join(import.meta.dirname, '../children/task-worker.ts');
    const dying = spawn(process.execPath, [bundled(program), root, inject('redisUrl'), queueName], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void dying.kill('SIGKILL'));
    await new Promise<void>((resolve, reject) => {
      createInterface(dying.stdout).once('line', () => resolve());
      dying.once('exit', (code) => reject(new Error(`The worker ended with ${code}.`)));
    });
    dying.kill('SIGKILL');

    const { hostname: host, port } = new URL(inject('redisUrl'));
    const runner = bullmqTaskRunner({
      connection: { host, port: Number(port) },
      queueName,
      stalledMs: 1_000,
    });
    const child = new ScriptedModel([{ text: 'FINISHED' }]);
    const agent = HarnessAgent.builder()
      .name('lead')
      .model(new ScriptedModel([]))
      .workspace(root)
      .session(new JsonSession({ directory: join(root, 'json') }))
      .use(subagents([{ name: 'worker', description: 'Works', model: child }], { runner }))
      .build();
    onTestFinished(() => agent.close());
    const tasks = () => subagentTasks(new JsonSession({ directory: join(root, 'json') }), owner);
    await until(async () => (await tasks())[0]?.status === 'completed');
    expect(child.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  it('serves one agent, and refuses what it does not know', () => {
    expect(() => bullmqTaskRunner({ connection: {}, retries: 3 } as never)).toThrow('retries');
    expect(() => bullmqTaskRunner({} as never)).toThrow('connection');
  });
});
