import { compaction } from '@x/compaction';
import {
  type AgentState,
  type Capability,
  defineTool,
  estimateCounter,
  InMemorySession,
  RuntimeContext,
  textOf,
} from '@x/core';
import { countRequest } from '@x/core/messages';
import { type ScriptEntry, type ScriptedAnswer, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, pendingCalls, permissions, planMode, todoList, toolGroups } from '../src/index.js';
import { decided, isPaired, scratch } from './support.js';

const WINDOW = 8_000;
const ROUNDS = 30;
const context = RuntimeContext.of({ sessionId: 's' });
const PLAN_FILE = 'plans/agents/agent/s.md';

const look = defineTool({
  name: 'look',
  description: 'Looks at something',
  readOnly: true,
  input: z.object({ at: z.number() }),
  execute: ({ at }) => `${at}: ${'word '.repeat(400)}`,
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => `paid ${amount}`,
});

interface Part {
  readonly capability: () => Capability;
  /** What the model does to get the capability's state going. */
  readonly steps: readonly ScriptedAnswer[];
  readonly holds: (state: AgentState) => unknown;
  readonly expected: unknown;
}

const step = (name: string, input: Parameters<typeof look.run>[0]): ScriptedAnswer => ({
  toolCalls: [{ name, input }],
});

const PARTS: Readonly<Record<string, Part>> = {
  todoList: {
    capability: todoList,
    steps: [step('todo_write', { todos: [{ content: 'Look at é', status: 'in_progress' }] })],
    holds: (state) => state.tasksContext,
    expected: { todos: [{ content: 'Look at é', status: 'in_progress' }] },
  },
  planMode: {
    capability: planMode,
    steps: [step('plan_enter', {}), step('plan_write', { content: 'Look, then leap.' })],
    holds: (state) => state.planModeContext,
    expected: { active: true, planFile: PLAN_FILE },
  },
  toolGroups: {
    capability: () =>
      toolGroups({
        money: { description: 'Money', tools: ['pay'] },
        sight: { description: 'Looking', tools: ['look'], active: true },
        rest: { description: 'Nothing', tools: [], active: true },
      }),
    steps: [step('tool_groups', { activate: ['money'], deactivate: ['rest'] })],
    holds: (state) => state.toolContext,
    expected: { activatedGroups: ['money'], deactivatedGroups: ['rest'] },
  },
  permissions: {
    capability: () => permissions({ mode: 'dont_ask' }),
    steps: [],
    holds: (state) => state.permissionContext,
    expected: {
      mode: 'accept_edits',
      allow: [{ tool: 'pay', match: '*' }],
      deny: [{ tool: 'send_mail', input: { to: '*@rival.com' } }],
      ask: [{ tool: 'execute' }],
    },
  },
};

/** Sets the capabilities' state up, then fills the window several times over. */
async function fill(names: readonly string[]) {
  const parts = names.flatMap((name) => PARTS[name] ?? []);
  const script: ScriptEntry[] = [
    ...parts.flatMap(({ steps }) => steps),
    { text: 'ready' },
    ...Array.from({ length: ROUNDS }, (_, at) => step('look', { at })),
    { text: 'done' },
  ];
  const model = new ScriptedModel(script, {
    contextWindow: WINDOW,
    enforceWindow: { counter: estimateCounter },
  });
  let compactions = 0;
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .tools(look, pay)
    .use(
      compaction({
        model: null,
        keep: { tokens: 1_000 },
        counter: estimateCounter,
      }),
      ...parts.map(({ capability }) => capability()),
    )
    .onEvent((event) => {
      if (event.type === 'context.compacted' && event.status === 'applied') compactions++;
    })
    .build();
  await agent.call('Get ready', context);
  await agent.updateState(context, (state) => {
    if (!names.includes('permissions')) return;
    state.permissionContext = structuredClone(PARTS.permissions?.expected) as AgentState['permissionContext'];
  });
  const before = contextsOf(await agent.state(context));
  await agent.call('Look at everything', context);
  model.assertComplete();
  const state = await agent.state(context);
  return { model, state, before, after: contextsOf(state), compactions, parts };
}

function contextsOf(state: AgentState | undefined): string {
  const { permissionContext, planModeContext, tasksContext, toolContext, extensions = {} } = state ?? {};
  const { compaction: _, ...others } = extensions as Record<string, unknown>;
  return JSON.stringify({ permissionContext, planModeContext, tasksContext, toolContext, others });
}

describe(`the state after ${ROUNDS} rounds through a window of ${WINDOW} tokens`, () => {
  const names = Object.keys(PARTS);
  it.each([...names.map((name) => [name, [name]] as const), ['all together', names] as const])(
    'of %s is the same, byte for byte',
    async (_, together) => {
      const { model, state, before, after, compactions, parts } = await fill(together);
      expect(compactions).toBeGreaterThanOrEqual(2);
      expect(after).toBe(before);
      for (const { holds, expected } of parts) expect(state && holds(state)).toEqual(expected);
      for (const request of model.requests) {
        expect(isPaired(request.messages)).toBe(true);
        expect(countRequest(estimateCounter, request)).toBeLessThanOrEqual(WINDOW);
      }
    },
  );

  it('is told to the model: the todos once, at the end, and in the summary where the plan is', async () => {
    const { state, model } = await fill(['todoList', 'planMode']);
    expect(state?.summary).toContain(`Plan: ${PLAN_FILE}`);
    expect(state?.summary).toContain('Plan mode is on.');
    const last = JSON.stringify(model.requests.at(-1)?.messages);
    expect(last.split('Look at é')).toHaveLength(2);
    const reminders = model.requests.at(-1)?.messages.filter(({ kind }) => kind === 'synthetic') ?? [];
    expect(reminders.map(textOf).join()).toMatch(
      /Plan mode is on.*<todo_list>|<todo_list>.*Plan mode is on/s,
    );
  });
});

it('the log has summaries and messages in the order of their times', async () => {
  const calls = Array.from({ length: 3 * ROUNDS }, (_, at) => step('look', { at }));
  const agent = HarnessAgent.builder()
    .model(new ScriptedModel([...calls, { text: 'done' }], { contextWindow: WINDOW }))
    .workspace(scratch())
    .maxIterations(4 * ROUNDS)
    .tools(look)
    .use(compaction({ model: null, keep: { tokens: 1_000 } }))
    .build();
  await agent.call('Look at everything', context);
  const logged = [];
  for await (const message of agent.log(context).read()) logged.push(message);
  expect(logged.filter(({ kind }) => kind === 'summary').length).toBeGreaterThanOrEqual(2);
  const times = logged.map(({ createdAt }) => createdAt);
  expect(times).toEqual(times.toSorted());
});

describe('calls that wait for approval', () => {
  it('stay open through a compaction and its undoing, and are run as decided', async () => {
    const session = new InMemorySession();
    const workspace = scratch();
    const build = (script: readonly ScriptEntry[]) => {
      const model = new ScriptedModel(script, { contextWindow: 200_000 });
      const agent = HarnessAgent.builder()
        .model(model)
        .workspace(workspace)
        .session(session)
        .tools(look, pay)
        .use(
          compaction({
            model: null,
            keep: { messages: 1 },
            summary: { record: 0.01 },
            counter: estimateCounter,
          }),
          permissions(),
        )
        .build();
      return { agent, model };
    };
    const { agent } = build([
      ...Array.from({ length: ROUNDS }, (_, at) => step('look', { at })),
      {
        toolCalls: [
          { id: 'a', name: 'look', input: { at: 99 } },
          { id: 'b', name: 'pay', input: { amount: 1 } },
          { id: 'c', name: 'pay', input: { amount: 2 } },
        ],
      },
    ]);
    const reply = await agent.call('Look and pay', context);
    expect(reply.stopReason).toBe('permission_required');
    const before = await agent.state(context);

    const outcome = await agent.compact(context);
    expect(outcome.status).toBe('applied');
    const compacted = await agent.state(context);
    expect(compacted && pendingCalls(compacted)).toEqual(reply.pendingCalls);
    expect(contextsOf(compacted)).toBe(contextsOf(before));
    expect(JSON.stringify(compacted?.context).length).toBeLessThan(
      JSON.stringify(before?.context).length / 2,
    );

    expect(await agent.undo(context)).toBe(true);
    const undone = await agent.state(context);
    expect(undone?.context).toEqual(before?.context);
    expect(undone && pendingCalls(undone)).toEqual(reply.pendingCalls);
    await agent.compact(context);

    const next = build([{ text: 'Paid.' }]);
    await next.agent.resume(context, {
      decisions: await decided(next.agent, context, { b: { type: 'approve' }, c: { type: 'deny' } }),
    });
    const messages = (next.model.requests[0]?.messages ?? []).filter(({ id }) => id !== 'recall-reminder');
    expect(isPaired(messages)).toBe(true);
    expect(messages.slice(-3).map((message) => textOf(message).slice(0, 8))).toEqual([
      '99: word',
      'paid 1',
      'The user',
    ]);
  });
});
