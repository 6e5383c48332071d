import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compaction, maskOutputs } from '@x/compaction';
import { defineTool, RuntimeContext, type ToolContext, textOf } from '@x/core';
import { sessionHistory, workspaceContext } from '@x/memory';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { permissions, planMode, subagents } from '../../../src/index.js';
import { scratch } from '../../support.js';
import { blocksOf, context, parentWith, resultsOf } from './support.js';

const spawn = { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work' } }] };
const strike = { toolCalls: [{ name: 'strike', input: {} }] };

function strikeTool(done: string[]) {
  return defineTool({
    name: 'strike',
    description: 'Changes something',
    input: z.strictObject({}),
    execute: () => void done.push('struck'),
  });
}

/** A promise that a test resolves. */
function gate() {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

const worker = (script: readonly ScriptEntry[], more: object = {}) => {
  const model = new ScriptedModel(script);
  return { model, definition: { name: 'worker', description: 'Works', model, ...more } };
};

describe('a subagent', () => {
  it('goes without what its definition leaves out and what is withheld, under the names that files use', async () => {
    const folder = scratch();
    writeFileSync(join(folder, 'AGENTS.md'), 'Indent with tabs.');
    const { model: child, definition } = worker([{ text: 'done' }], {
      without: ['workspace_context'],
    });
    const model = new ScriptedModel([spawn, { text: 'ok' }]);
    const agent = parentWith(model, workspaceContext(), sessionHistory(), subagents([definition]))
      .workspace(folder)
      .isolation('shared')
      .build();
    await agent.call('go', context);
    expect(agent.capabilities).toEqual(['workspace_context', 'session_history', 'subagents']);
    expect(model.requests[0]?.system).toContain('Indent with tabs.');
    expect(child.requests[0]?.system).not.toContain('Indent with tabs.');
    expect(child.requests[0]?.tools?.map(({ name }) => name)).not.toContain('session_history');
    await agent.close();
  });

  it('is denied what its definition denies, though its parent may', async () => {
    const done: string[] = [];
    const { definition } = worker([strike, { text: 'could not' }], { deny: [{ tool: 'strike' }] });
    const model = new ScriptedModel([spawn, strike, { text: 'ok' }]);
    const agent = parentWith(model, permissions({ mode: 'bypass' }), subagents([definition]))
      .tools(strikeTool(done))
      .build();
    await agent.call('go', context);
    expect(done).toEqual(['struck']);
    expect((await agent.state(context))?.permissionContext.deny).toEqual([]);
    await agent.close();
  });

  it('only reads while its parent plans, and cannot leave plan mode', async () => {
    const done: string[] = [];
    const { model: child, definition } = worker([strike, { text: 'could not' }]);
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'plan_enter', input: {} }] },
      spawn,
      { text: 'ok' },
    ]);
    const agent = parentWith(model, planMode(), subagents([definition]))
      .tools(strikeTool(done))
      .build();
    await agent.call('go', context);
    expect(blocksOf(model.requests[2]?.messages ?? [], 'agent_spawn')[0]?.isError).toBe(false);
    expect(done).toEqual([]);
    expect(child.requests[0]?.tools.map(({ name }) => name)).not.toContain('plan_exit');
    expect(textOf(blocksOf(child.requests[1]?.messages ?? [], 'strike'))).toContain('plan mode is on');
    await agent.close();
  });

  it('has no plan mode of its own, which would compete with that of its parent', () => {
    const { definition } = worker([], { capabilities: [planMode()] });
    expect(() => parentWith(new ScriptedModel([]), subagents([definition])).build()).toThrow(
      'subagents.worker.capabilities: subagents cannot have their own plan mode',
    );
  });

  it('may act again once its parent has left plan mode', async () => {
    const done: string[] = [];
    const [reached, left] = [gate(), gate()];
    const toolOf = (name: string, execute: (_: unknown, scope: ToolContext) => unknown) =>
      defineTool({
        name,
        description: 'Does what its name says',
        sessionOnly: true,
        input: z.strictObject({}),
        execute: async (...given) => void (await execute(...given)),
      });
    const pause = toolOf('pause', () => {
      reached.open();
      return left.passed;
    });
    const meet = toolOf('meet', () => reached.passed);
    const leave = toolOf('leave', (_, { state }) => {
      state.planModeContext = { active: false };
      left.open();
    });
    const calls = (name: string, input = {}) => ({ toolCalls: [{ name, input }] });
    const { model: child, definition } = worker([strike, calls('pause'), strike, { text: 'done' }]);
    const model = new ScriptedModel([
      calls('plan_enter'),
      calls('agent_spawn', { agent: 'worker', task: 'Work', background: true }),
      calls('meet'),
      calls('leave'),
      calls('wait_async_results'),
      { text: 'ok' },
    ]);
    const agent = parentWith(model, permissions({ mode: 'bypass' }), planMode(), subagents([definition]))
      .tools(strikeTool(done), pause, meet, leave)
      .build();
    await agent.call('go', context);
    const answers = blocksOf(child.requests.at(-1)?.messages ?? [], 'strike').map((block) => textOf([block]));
    expect(answers.map((answer) => answer.includes('plan mode is on'))).toEqual([true, false]);
    expect(done).toEqual(['struck']);
    await agent.close();
  });

  it('compacts its own window by what its parent compacts by, and the records of tasks stay as they were', async () => {
    const list = { toolCalls: [{ name: 'look', input: {} }] };
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      readOnly: true,
      input: z.strictObject({}),
      execute: () => 'a long line\n'.repeat(50),
    });
    const { model: child, definition } = worker([
      ...Array.from({ length: 12 }, () => list),
      { text: 'RESULT' },
    ]);
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work', background: true } }] },
      { toolCalls: [{ name: 'wait_async_results', input: {} }] },
      ...Array.from({ length: 12 }, () => list),
      { toolCalls: [{ name: 'wait_async_results', input: { taskIds: ['task-0'] } }] },
      { text: 'ok' },
    ]);
    const agent = parentWith(
      model,
      compaction({
        stages: [maskOutputs(), 'drop_oldest'],
        trigger: { messages: 8 },
        keep: { messages: 2 },
      }),
      subagents([definition]),
    )
      .tools(look)
      .build();
    await agent.call('go', context);
    const masked = (requests: ScriptedModel['requests']) =>
      resultsOf(requests.at(-1)?.messages ?? [], 'look').filter((text) => text.startsWith('[look')).length;
    expect(masked(child.requests)).toBeGreaterThan(0);
    expect(masked(model.requests)).toBeGreaterThan(0);
    expect(resultsOf(model.requests.at(-1)?.messages ?? [], 'wait_async_results').at(-1)).toMatch(
      /Available: worker-\w+\.$/,
    );
    await agent.close();
  });

  it('has its tokens counted as its parent’s, once', async () => {
    const usage = { inputTokens: 100, outputTokens: 10 };
    const { definition } = worker([{ text: 'ok', usage }]);
    const reported: unknown[] = [];
    const agent = parentWith(new ScriptedModel([spawn, { text: 'ok' }]), subagents([definition]))
      .onEvent((event) => event.type === 'usage.reported' && reported.push([event.source, event.usage]))
      .build();
    await agent.call('go', RuntimeContext.of({ sessionId: 'other' }));
    expect(reported).toEqual([['subagents', expect.objectContaining(usage)]]);
    await agent.close();
  });
});
