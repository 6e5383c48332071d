import { ContextOverflowError, RuntimeContext, storageOf, textOf } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import type { ScriptEntry } from '@x/testkit';
import { expect, it } from 'vitest';
import { pendingCalls } from '../../src/index.js';
import { until } from '../capabilities/subagents/support.js';
import { decided, isPaired, scratch } from '../support.js';
import { ANSWER_OF_HELPER, everything, furnish, purse, untouchedOf } from './everything.js';
import { expectSound, expectSticky } from './expectations.js';
import { entries, failuresIn, fillers, interleave, ROUNDS_OF } from './rounds.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's' });
const call = (name: string, input: Record<string, string | number | boolean> = {}, id?: string) => ({
  toolCalls: [{ name, input, id }],
});

it('everything together works through a small window, over three processes', {
  timeout: 300_000,
}, async () => {
  const directory = scratch();
  furnish(directory);
  const session = new WorkspaceSession(storageOf(new LocalWorkspace(directory)));
  const { pay, paid } = purse();
  const start = (script: readonly ScriptEntry[]) => everything({ directory, session, script, pay });
  const rounds = Object.values(ROUNDS_OF).flat();

  // The first process: every tool, then a plan that a human must approve.
  const first = await start([
    ...entries(interleave(rounds, 100)),
    ...entries(interleave(rounds, 200)),
    { text: 'I have used everything.' },
    call('plan_enter'),
    ...entries(fillers(10, 300)),
    call('plan_write', { content: 'Look, then pay.' }),
    call('write_file', { path: 'src/no.ts', content: 'not while planning' }),
    ...entries(fillers(10, 400)),
    call('plan_exit', { summary: 'Look, then pay' }, 'leave'),
  ]);
  expect((await first.agent.call('Use everything there is', context)).stopReason).toBe('completed');
  expect((await first.agent.call('Plan to pay', context)).stopReason).toBe('permission_required');
  const planning = await first.agent.state(context);
  expect(planning?.planModeContext.active).toBe(true);
  await first.agent.close();

  // The second: carries the plan out up to what must be approved again; compacted by hand, and that undone.
  const second = await start([
    ...entries(fillers(12, 500)),
    {
      toolCalls: [
        { id: 'a', name: 'look', input: { at: 600, words: 100 } },
        { id: 'b', name: 'pay', input: { amount: 1 } },
        { id: 'c', name: 'pay', input: { amount: 2 } },
        { id: 'd', name: 'execute', input: { command: 'rm -r src' } },
      ],
    },
  ]);
  const waiting = await second.agent.resume(context, {
    decisions: await decided(second.agent, context, { leave: { type: 'approve' } }),
  });
  expect(waiting.pendingCalls.map(({ id }) => id)).toEqual(['b', 'c']);
  expect(paid).toEqual([]);
  const before = await second.agent.state(context);
  expect((await second.agent.compact(context)).status).toBe('applied');
  const compacted = await second.agent.state(context);
  expect(compacted && untouchedOf(compacted)).toBe(before && untouchedOf(before));
  expect(compacted && pendingCalls(compacted)).toEqual(waiting.pendingCalls);
  expect(await second.agent.undo(context)).toBe(true);
  expect((await second.agent.state(context))?.context).toEqual(before?.context);
  await second.agent.close();

  // The third: pays once, is steered, has a task in the background, and is told that a request was too large.
  const steered: Promise<boolean>[] = [];
  const third = await start([
    ...entries(fillers(6, 700)),
    call('agent_spawn', { agent: 'helper', task: 'Find it in time', background: true }),
    async () => {
      steered.push(third.agent.steer(context, 'And look at 999 too'));
      await until(() =>
        third.events.some((event) => event.type === 'task.changed' && event.status !== 'running'),
      );
      return { toolCalls: [{ name: 'look', input: { at: 1, words: 10 } }] };
    },
    ...entries(fillers(8, 800)),
    { error: new ContextOverflowError(undefined, { modelId: 'lead' }) },
    ...entries(fillers(6, 900)),
    { text: 'Paid and looked.' },
  ]);
  const done = await third.agent.resume(context, {
    decisions: await decided(third.agent, context, {
      b: { type: 'approve', always: true },
      c: { type: 'deny' },
    }),
  });
  expect(done).toMatchObject({ stopReason: 'completed', text: 'Paid and looked.' });
  expect(await Promise.all(steered)).toEqual([true]);
  expect(paid).toEqual([1]);
  await third.agent.close();

  const processes = [first, second, third];
  for (const { model, compactions } of processes) {
    model.assertComplete();
    expectSound(model, compactions);
  }
  expectSticky(first.model.requests, first.compactions);
  expectSticky(third.model.requests, third.compactions);
  expect(processes.flatMap(({ compactions }) => compactions).length).toBeGreaterThanOrEqual(8);
  expect(third.events).toContainEqual(
    expect.objectContaining({
      type: 'context.compacted',
      reason: 'request_too_large',
      status: 'applied',
    }),
  );

  const requests = processes.flatMap(({ model }) => model.requests);
  expect(failuresIn(requests)).toEqual([
    expect.stringContaining('write_file: Denied: plan mode is on'),
    expect.stringContaining('pay: The user denied'),
    expect.stringContaining('execute: Denied by the rule execute(rm *)'),
  ]);
  const events = processes.flatMap((process) => process.events);
  const called = new Set(events.flatMap((event) => (event.type === 'tool.call' ? [event.call.name] : [])));
  const offered = new Set(requests.flatMap(({ tools }) => tools.map(({ name }) => name)));
  expect([...offered].filter((name) => !called.has(name))).toEqual([]);
  expect(offered.size).toBe(30);
  expect(events.filter(({ type }) => type === 'warning' || type === 'memory.failed')).toEqual([]);

  // What ended in the background was told once, and stands in no state.
  const reminders = requests.flatMap(({ messages }) => messages.filter(({ id }) => id === 'finished-tasks'));
  const told = reminders.flatMap((message) => textOf(message).match(/helper-[\da-f]{8}(?=: )/g) ?? []);
  expect(new Set(told).size).toBe(told.length);
  const lastTask = events.findLast((event) => event.type === 'task.changed');
  expect(told).toContain(lastTask?.taskId);
  expect(reminders.map(textOf).join()).toContain(ANSWER_OF_HELPER);

  const state = await third.agent.state(context);
  expect(isPaired(state?.context ?? [])).toBe(true);
  expect(state?.context.some(({ kind }) => kind === 'synthetic')).toBe(false);
  expect(state).toMatchObject({
    planModeContext: { active: false, planFile: 'plans/users/alice/agents/lead/s.md' },
    tasksContext: { todos: [{ content: 'Look at é', status: 'in_progress' }] },
    toolContext: { activatedGroups: ['money'] },
    permissionContext: { allow: [{ tool: 'pay' }] },
  });

  // The log has everything that was ever said, once each.
  const logged: string[] = [];
  for await (const { id } of third.agent.log(context).read()) logged.push(id);
  expect(new Set(logged).size).toBe(logged.length);
  const added = events.flatMap((event) => (event.type === 'message.added' ? [event.message.id] : []));
  expect(added.filter((id) => !logged.includes(id))).toEqual([]);
});
