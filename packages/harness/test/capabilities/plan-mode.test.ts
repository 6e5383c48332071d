import {
  AgentState,
  defineTool,
  InMemorySession,
  RuntimeContext,
  readText,
  storageOf,
  type Tool,
  textOf,
} from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PlanModeConfig } from '../../src/capabilities/plan-mode.js';
import { HarnessAgent, permissions, planMode, todoList, workspaceTools } from '../../src/index.js';
import { resultsIn } from '../loop/approvals/support.js';
import { decided, isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's/1' });
const PLAN_FILE = 'plans/users/alice/agents/agent/s%2f1.md';

const call = (name: string, input: Parameters<Tool['run']>[0] = {}, id = name) => ({
  toolCalls: [{ id, name, input }],
});

function setup(config: PlanModeConfig = {}) {
  const directory = scratch();
  const session = new InMemorySession();
  const ran: string[] = [];
  const execute = defineTool({
    name: 'execute',
    description: 'Runs a command',
    input: z.object({ command: z.string() }),
    execute({ command }) {
      ran.push(command);
      return 'exit 0';
    },
  });
  const agent = (script: readonly ScriptEntry[], agentId = 'agent') => {
    const model = new ScriptedModel(script);
    const built = HarnessAgent.builder()
      .name(agentId)
      .model(model)
      .workspace(directory)
      .session(session)
      .tools(execute)
      .use(planMode(config), todoList(), workspaceTools(), permissions({ mode: 'bypass' }))
      .build();
    return { agent: built, model };
  };
  return { agent, ran, workspace: new LocalWorkspace(directory) };
}

describe('planMode', () => {
  it('plans read-only, asks for the plan to be approved, and carries it out', async () => {
    const { agent, ran, workspace } = setup();
    const first = agent([
      call('plan_enter'),
      call('write_file', { path: 'a.txt', content: 'x' }),
      call('execute', { command: 'make' }),
      call('list_files', { path: '' }),
      call('todo_write', { todos: [{ content: 'build', status: 'pending' }] }),
      call('plan_write', { content: '# Plan\n1. make' }),
      call('plan_exit', { summary: 'Make it' }),
    ]);
    const reply = await first.agent.call('Build it', context);
    expect(reply.stopReason).toBe('permission_required');
    expect(reply.pendingCalls).toMatchObject([
      { name: 'plan_exit', input: { summary: 'Make it' }, reason: `Carry out the plan in ${PLAN_FILE}?` },
    ]);
    const results = resultsIn(first.model);
    expect(results.write_file).toMatch(/^error: Denied: plan mode is on, and write_file may change/);
    expect(results.execute).toMatch(/^error: Denied: plan mode is on/);
    expect(results.list_files).not.toContain('error');
    expect(results.todo_write).toBe('Todo list stored: 0 of 1 done.');
    expect(ran).toEqual([]);
    expect(await workspace.stat('a.txt')).toBeUndefined();
    expect(await readText(storageOf(workspace), PLAN_FILE)).toBe('# Plan\n1. make\n');

    const second = agent([call('execute', { command: 'make' }), { text: 'Built.' }]);
    const done = await second.agent.resume(context, {
      decisions: await decided(second.agent, context, { plan_exit: { type: 'approve' } }),
    });
    expect(done.text).toBe('Built.');
    expect(ran).toEqual(['make']);
    expect((await second.agent.state(context))?.planModeContext).toEqual({
      active: false,
      planFile: PLAN_FILE,
    });
  });

  it('goes on planning when the plan is not approved, with the reason in front of the model', async () => {
    const { agent } = setup();
    await agent([call('plan_enter'), call('plan_write', { content: 'make' }), call('plan_exit')]).agent.call(
      'Build it',
      context,
    );
    const { agent: next, model } = agent([call('execute', { command: 'make' }, 'e'), { text: 'I plan on.' }]);
    await next.resume(context, {
      decisions: await decided(next, context, { plan_exit: { type: 'deny', reason: 'Test it first.' } }),
    });
    const results = resultsIn(model);
    expect(results.plan_exit).toBe('error: The user denied this call: Test it first.');
    expect(results.e).toMatch(/^error: Denied: plan mode is on/);
    expect((await next.state(context))?.planModeContext.active).toBe(true);
  });

  it('stands in the view of every step while it is on, and nowhere else', async () => {
    const { agent } = setup();
    const { agent: built, model } = agent([
      call('plan_enter'),
      call('plan_write', { content: 'make' }),
      call('plan_exit'),
    ]);
    await built.call('Build it', context);
    const { agent: next, model: after } = agent([{ text: 'ok' }]);
    await next.resume(context, {
      decisions: await decided(next, context, { plan_exit: { type: 'approve' } }),
    });
    const reminders = [...model.requests, ...after.requests].map(({ messages }) => {
      const last = messages.at(-1);
      return last?.kind === 'synthetic' ? textOf(last) : undefined;
    });
    expect(reminders).toEqual([
      undefined,
      expect.stringContaining('There is no plan yet'),
      expect.stringContaining(`The plan so far is in ${PLAN_FILE}`),
      undefined,
    ]);
    const state = await next.state(context);
    expect(state?.context.some(({ kind }) => kind === 'synthetic')).toBe(false);
    expect(isPaired(state?.context ?? [])).toBe(true);
  });

  it('holds within a step too: what follows plan_enter is denied, what precedes it is not', async () => {
    const { agent, ran } = setup();
    const { agent: built, model } = agent([
      {
        toolCalls: [
          { id: '1', name: 'execute', input: { command: 'before' } },
          { id: '2', name: 'plan_enter', input: {} },
          { id: '3', name: 'execute', input: { command: 'after' } },
        ],
      },
      { text: 'ok' },
    ]);
    await built.call('Go', context);
    expect(ran).toEqual(['before']);
    expect(resultsIn(model)['3']).toMatch(/^error: Denied/);
  });

  it('tells the model what is out of turn, without asking anybody', async () => {
    const { agent } = setup();
    const { agent: built, model } = agent([
      call('plan_write', { content: 'x' }, '1'),
      call('plan_exit', {}, '2'),
      call('plan_enter', {}, '3'),
      call('plan_enter', {}, '4'),
      call('plan_exit', {}, '5'),
      { text: 'ok' },
    ]);
    expect((await built.call('Go', context)).stopReason).toBe('completed');
    expect(resultsIn(model)).toMatchObject({
      1: 'error: Plan mode is not on: begin with plan_enter.',
      2: 'error: Plan mode is not on: begin with plan_enter.',
      4: 'Plan mode is already on.',
      5: 'error: There is no plan yet: write it with plan_write first.',
    });
  });

  it('allows what it is configured to, command by command', async () => {
    const { agent, ran } = setup({ allow: ['execute(git log *)'] });
    const { agent: built } = agent([
      call('plan_enter'),
      call('execute', { command: 'git log -3' }, '1'),
      call('execute', { command: 'git log && rm -rf x' }, '2'),
      { text: 'ok' },
    ]);
    await built.call('Go', context);
    expect(ran).toEqual(['git log -3']);
    expect(() => planMode({ allow: ['execute()'] })).toThrow('allow[0]');
    expect(() => planMode({ shell: true } as PlanModeConfig)).toThrow('shell');
  });

  it('can end without approval where nobody is there to ask', async () => {
    const { agent } = setup({ approval: false });
    const { agent: built } = agent([
      call('plan_enter'),
      call('plan_write', { content: 'make' }),
      call('plan_exit'),
      { text: 'ok' },
    ]);
    expect((await built.call('Go', context)).stopReason).toBe('completed');
    expect((await built.state(context))?.planModeContext.active).toBe(false);
  });

  it.each([
    [call('list_files', { path: '' }), 'completed', undefined],
    [
      call('execute', { command: 'make' }),
      'permission_required',
      'text that others may have written (from execute).',
    ],
  ])('is asked about anyway if it may come from a stranger: after %j', async (reads, stopReason, reason) => {
    const { agent } = setup({ approval: false, allow: ['execute(make)'] });
    const plan = [call('plan_write', { content: 'make' }), call('plan_exit'), { text: 'ok' }];
    const reply = await agent([call('plan_enter'), reads, ...plan]).agent.call('Go', context);
    expect(reply.stopReason).toBe(stopReason);
    expect(reply.pendingCalls.map((each) => each.reason)).toEqual(
      reason ? [expect.stringContaining(reason)] : [],
    );
  });

  it('can be begun by the user, between calls', async () => {
    const { agent, ran } = setup();
    const { agent: built } = agent([call('execute', { command: 'make' }), { text: 'ok' }]);
    await built.updateState(context, (state) => {
      state.planModeContext = { ...state.planModeContext, active: true };
    });
    await built.call('Go', context);
    expect(ran).toEqual([]);
    await expect(
      built.updateState(context, (state) => {
        state.planModeContext = { active: 'yes' } as never;
      }),
    ).rejects.toThrow('planModeContext.active');
    expect((await built.state(context))?.planModeContext.active).toBe(true);
  });

  it('keeps one plan for each session of each user and agent', async () => {
    const { agent } = setup();
    const identities = [
      [{ sessionId: 's/1' }, 'agent'],
      [{ userId: 'alice', sessionId: 's/1' }, 'agent'],
      [{ userId: 'alice', sessionId: 's' }, 'agent'],
      [{ tenantId: 'alice', sessionId: 's' }, 'agent'],
      [{ userId: 'alice', sessionId: 's' }, 'other'],
      [{ userId: 'alice', sessionId: '../s' }, 'agent'],
    ] as const;
    const files = new Set<string | undefined>();
    for (const [index, [identity, name]] of identities.entries()) {
      const script = [call('plan_enter'), call('plan_write', { content: `plan ${index}` }), { text: 'ok' }];
      const { agent: built } = agent(script, name);
      const runtime = RuntimeContext.of(identity);
      await built.call('Go', runtime);
      const file = (await built.state(runtime))?.planModeContext.planFile ?? '';
      expect(file).toMatch(/^plans\/(?:[a-z0-9%_-][a-z0-9%._-]*\/?)+\.md$/);
      expect(await readText(built.files(runtime), file)).toBe(`plan ${index}\n`);
      files.add(file);
    }
    expect(files.size).toBe(identities.length);
  });

  it('is in the state as stored', () => {
    const state = AgentState.create({ sessionId: 's' });
    state.planModeContext = { active: true, planFile: PLAN_FILE };
    expect(AgentState.fromJSON(JSON.parse(JSON.stringify(state))).planModeContext).toEqual(
      state.planModeContext,
    );
  });
});
