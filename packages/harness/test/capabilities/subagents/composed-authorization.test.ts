import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Capability, defineTool, InMemorySession, type Model, RuntimeContext } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PermissionsConfig } from '../../../src/capabilities/permissions/permissions.js';
import {
  HarnessAgent,
  permissions,
  planMode,
  type SubagentDefinition,
  shell,
  subagents,
  workspaceTools,
} from '../../../src/index.js';
import { decided, scratch } from '../../support.js';
import { blocksOf, context, held, parentWith, resultsOf, until } from './support.js';

const spawn = (agent = 'worker') => ({
  toolCalls: [{ id: 'spawn', name: 'agent_spawn', input: { agent, task: 'Work' } }],
});
const strike = { toolCalls: [{ name: 'strike', input: {} }] };

function strikeTool(done: string[]) {
  return defineTool({
    name: 'strike',
    description: 'Changes something',
    input: z.strictObject({}),
    execute: () => void done.push('struck'),
  });
}

/** A capability that objects to everything, and is of no permission's kind. */
const lockdown: Capability = {
  name: 'lockdown',
  authorize: (call, { state }) =>
    call.name === 'strike' && state.extensions.lockdown?.on === true
      ? { type: 'deny', reason: 'Locked down.' }
      : undefined,
};

describe('what a parent may not do', () => {
  const permissive = { ...permissions({ mode: 'bypass' }), name: 'permissions' };
  const definitions: readonly Partial<SubagentDefinition>[] = [
    {},
    { without: ['permissions'] },
    { without: ['permissions', 'plan_mode', 'lockdown'] },
    { capabilities: [permissive] },
    { capabilities: [{ name: 'striking' }], without: ['permissions'] },
  ];
  const parents: readonly [string, PermissionsConfig][] = [
    ['dont_ask', { mode: 'dont_ask' }],
    ['explore', { mode: 'explore' }],
    ['a rule', { mode: 'bypass', deny: ['strike'] }],
    ['plan mode', { mode: 'bypass' }],
    ['a state of its own', { mode: 'bypass' }],
  ];

  it.each(parents)(
    'its subagents may not do either, whatever their definitions say: %s',
    async (name, rules) => {
      for (const definition of definitions) {
        const done: string[] = [];
        const capabilities = definition.capabilities?.map((each) =>
          each.name === 'striking' ? { ...each, tools: [strikeTool(done)] } : each,
        );
        // The subagent gives the work to a subagent of its own.
        const model = new ScriptedModel([strike, spawn(), { text: 'could not' }]);
        const below = new ScriptedModel([strike, { text: 'could not' }]);
        let made = 0;
        const either: Model = {
          id: 'either',
          contextWindow: 100_000,
          generate: (request) => (made++ < 2 ? model : made < 5 ? below : model).generate(request),
        };
        const agent = parentWith(
          new ScriptedModel([spawn(), { text: 'ok' }]),
          permissions(rules),
          planMode(),
          lockdown,
          subagents([
            {
              name: 'worker',
              description: 'Works',
              model: either,
              ...definition,
              ...(capabilities && { capabilities }),
            },
          ]),
        )
          .tools(strikeTool(done))
          .build();
        await agent.updateState(context, (state) => {
          if (name === 'plan mode') state.planModeContext = { active: true };
          if (name === 'a state of its own') state.extensions.lockdown = { on: true };
        });
        await agent.call('go', context);
        expect(done, JSON.stringify(Object.keys(definition))).toEqual([]);
        expect(made).toBeGreaterThanOrEqual(3);
        await agent.close();
      }
    },
  );

  it('is not taken away by a file, nor is anything made of one before it is judged', async () => {
    const folder = scratch();
    const workspace = new LocalWorkspace(folder);
    const marker = join(folder, 'marker');
    const server = `{ mcp: { servers: { x: { command: sh, args: [-c, "touch ${marker}"] } } } }`;
    for (const [file, features] of [
      ['general-purpose', '{ permissions: false }'],
      ['worker', server],
      ['other', '{ plan_mode: false, permissions: { mode: bypass } }'],
    ]) {
      await workspace.write(`subagents/${file}.md`, `---\ndescription: x\nfeatures: ${features}\n---\nWork.`);
    }
    const done: string[] = [];
    const model = new ScriptedModel([
      spawn('general-purpose'),
      strike,
      { text: 'could not' },
      spawn('worker'),
      spawn('other'),
      { text: 'ok' },
    ]);
    const agent = parentWith(model, permissions({ mode: 'dont_ask' }), subagents())
      .tools(strikeTool(done))
      .workspace(workspace)
      .build();
    await agent.call('go', context);
    expect(done).toEqual([]);
    expect(existsSync(marker)).toBe(false);
    const results = resultsOf(model.requests.at(-1)?.messages ?? [], 'agent_spawn');
    expect(results.slice(1)).toEqual([
      expect.stringContaining('There is no subagent "worker"'),
      expect.stringContaining('There is no subagent "other"'),
    ]);
    await agent.close();
  });
});

describe('a subagent that runs', () => {
  const background = {
    toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work', background: true } }],
  };

  /** A subagent in the background, which strikes once it is told to. */
  function working(script: readonly ScriptEntry[]) {
    const work = held();
    const done: string[] = [];
    const changes: string[] = [];
    const child = new ScriptedModel([
      async () => {
        await work.reply();
        return strike;
      },
      { text: 'could not' },
    ]);
    const ended = () => until(() => changes.includes('completed'));
    const model = new ScriptedModel([
      background,
      ...script.map((entry) => async (request: Parameters<Model['generate']>[0]) => {
        await work.started;
        return typeof entry === 'function' ? entry(request) : (entry as { text: string });
      }),
    ]);
    const agent = parentWith(
      model,
      permissions({ mode: 'bypass' }),
      planMode(),
      subagents([{ name: 'worker', description: 'Works', model: child }]),
    )
      .tools(strikeTool(done))
      .onEvent((event) => event.type === 'task.changed' && changes.push(event.status))
      .build();
    return { agent, child, done, work, ended };
  }

  it('keeps to the plan mode that its parent enters meanwhile, in the same call', async () => {
    const run = working([
      { toolCalls: [{ name: 'plan_enter', input: {} }] } as never,
      async () => {
        run.work.release('');
        await run.ended();
        return { text: 'planned' };
      },
    ]);
    await run.agent.call('go', context);
    expect(run.done).toEqual([]);
    expect(resultsOf(run.child.requests[1]?.messages ?? [], 'strike')[0]).toContain('plan mode is on');
    expect(JSON.stringify(run.child.requests[1]?.messages)).toContain('<plan_mode>');
    await run.agent.close();
  });

  it('keeps to the plan mode of the session, and tells what it used, where a subagent between them has ended', async () => {
    const work = held();
    const done: string[] = [];
    const used: string[] = [];
    const usage = { inputTokens: 7, outputTokens: 1 };
    const leaf = new ScriptedModel(
      [
        async () => {
          await work.reply();
          return strike;
        },
        { text: 'could not', usage },
      ],
      { id: 'leaf' },
    );
    const middle = new ScriptedModel([
      { toolCalls: [{ name: 'agent_spawn', input: { agent: 'leaf', task: 'Work', background: true } }] },
      { text: 'delegated' },
    ]);
    const model = new ScriptedModel([
      spawn('middle'),
      { toolCalls: [{ name: 'plan_enter', input: {} }] },
      async () => {
        await work.started;
        work.release('');
        await until(() => used.filter((id) => id === 'leaf').length === 2);
        return { text: 'planned' };
      },
    ]);
    const agent = parentWith(
      model,
      permissions({ mode: 'bypass' }),
      planMode(),
      subagents([
        { name: 'middle', description: 'Delegates', model: middle },
        { name: 'leaf', description: 'Works', model: leaf },
      ]),
    )
      .tools(strikeTool(done))
      .onEvent((event) => event.type === 'usage.reported' && used.push(event.modelId))
      .build();
    await agent.call('go', context);
    expect(done).toEqual([]);
    expect(resultsOf(leaf.requests[1]?.messages ?? [], 'strike')[0]).toContain('plan mode is on');
    await agent.close();
  });

  it.each(['a rule that denies', 'plan mode'])(
    'keeps to what its session was told between calls: %s',
    async (kind) => {
      const run = working([{ text: 'begun' }]);
      await run.agent.call('go', context);
      await run.agent.updateState(context, (state) => {
        if (kind === 'plan mode') state.planModeContext = { active: true };
        else state.permissionContext = { ...state.permissionContext, deny: [{ tool: 'strike' }] };
      });
      run.work.release('');
      await run.ended();
      expect(run.done).toEqual([]);
      expect(blocksOf(run.child.requests[1]?.messages ?? [], 'strike')[0]?.isError).toBe(true);
      await run.agent.close();
    },
  );

  it('is judged by what was kept of its own session, and not of its parent’s alone', async () => {
    const done: string[] = [];
    const once: Capability = {
      name: 'once',
      authorize: ({ name }, { state }) =>
        state.extensions.once?.[name] === true ? { type: 'deny', reason: 'Once only.' } : undefined,
      aroundTool(call, { state }, next) {
        state.extensions.once = { ...state.extensions.once, [call.name]: true };
        return next(call);
      },
    };
    const child = new ScriptedModel([strike, strike, { text: 'struck once' }]);
    const agent = parentWith(
      new ScriptedModel([spawn(), { text: 'ok' }]),
      once,
      subagents([{ name: 'worker', description: 'Works', model: child }]),
    )
      .tools(strikeTool(done))
      .build();
    await agent.updateState(context, (state) => {
      state.extensions.once = { other: true };
    });
    await agent.call('go', context);
    expect(done).toEqual(['struck']);
    await agent.close();
  });
});

describe('a restriction that would do nothing', () => {
  const build = (definition: Partial<SubagentDefinition>) =>
    parentWith(
      new ScriptedModel([]),
      workspaceTools(),
      subagents([{ name: 'worker', description: 'Works', ...definition }]),
    )
      .tools(strikeTool([]))
      .build();

  it.each<[string, () => unknown]>([
    ['without', () => build({ without: ['workspace_tool'] })],
    ['deny', () => build({ deny: ['stricke'] })],
  ])('is refused: a slip in %s', (_, make) => {
    expect(make).toThrow(/workspace_tool"|did you mean strike/);
  });

  it('holds at every level, where a definition brings it as a capability', async () => {
    const done: string[] = [];
    const model = new ScriptedModel([strike, { text: 'could not' }]);
    const striker = {
      name: 'striker',
      description: 'Strikes',
      model,
      capabilities: [permissions({ deny: ['strike'] })],
    };
    const middle = new ScriptedModel([spawn('striker'), { text: 'ok' }]);
    const agent = parentWith(
      new ScriptedModel([spawn('middle'), { text: 'ok' }]),
      subagents([striker, { name: 'middle', description: 'Delegates', model: middle }]),
    )
      .tools(strikeTool(done))
      .build();
    await agent.call('go', context);
    expect(model.requests).toHaveLength(2);
    expect(done).toEqual([]);
    await agent.close();
  });

  it('holds at every level: a capability to go without', async () => {
    const done: string[] = [];
    const model = new ScriptedModel([strike, { text: 'could not' }]);
    const meek = { name: 'meek', description: 'Reads', model, without: ['striking'] };
    const middle = new ScriptedModel([spawn('meek'), strike, { text: 'ok' }]);
    const agent = parentWith(
      new ScriptedModel([spawn('middle'), { text: 'ok' }]),
      { name: 'striking', tools: [strikeTool(done)] },
      subagents([meek, { name: 'middle', description: 'Delegates', model: middle }]),
    ).build();
    await agent.call('go', context);
    expect(model.requests[0]?.tools.map(({ name }) => name)).not.toContain('strike');
    expect(middle.requests).toHaveLength(3);
    expect(done).toEqual(['struck']);
    await agent.close();
  });

  it('holds without permissions() at the parent', async () => {
    const done: string[] = [];
    const model = new ScriptedModel([strike, { text: 'could not' }]);
    const worker = { name: 'worker', description: 'Works', model, deny: ['strike'] };
    const agent = parentWith(new ScriptedModel([spawn(), { text: 'ok' }]), subagents([worker]))
      .tools(strikeTool(done))
      .build();
    await agent.call('go', context);
    expect(done).toEqual([]);
    await agent.close();
  });
});

describe('approval of a call of a subagent', () => {
  const write = (path: string) => ({
    toolCalls: [{ id: path, name: 'write_file', input: { path, content: 'x' } }],
  });

  function setup() {
    const workspace = new LocalWorkspace(scratch());
    const session = new WorkspaceSession(new LocalWorkspace(scratch()));
    /** One process: it shares nothing with others but the store and the workspace. */
    const node = (parent: readonly ScriptEntry[], child: readonly ScriptEntry[], depth = 1) => {
      const model = new ScriptedModel(parent);
      const worker = {
        name: 'worker',
        description: 'Works',
        model: new ScriptedModel(child),
        maxDepth: depth,
      };
      const { maxDepth, ...definition } = worker;
      const agent = HarnessAgent.builder()
        .name('lead')
        .model(model)
        .workspace(workspace)
        .session(session)
        .use(workspaceTools(), permissions(), subagents([definition], { maxDepth }))
        .build();
      return { agent, model };
    };
    const files = async () => {
      const found: string[] = [];
      for await (const { path } of workspace.subtree('.x/files/users/alice').list())
        if (/^[a-z]$/.test(path)) found.push(path);
      return found;
    };
    return { node, files };
  }

  it('is asked for at its parent, given in another process, and carried out once', async () => {
    const { node, files } = setup();
    const first = node([spawn()], [write('a')]);
    const asked = await first.agent.call('go', context);
    expect(asked).toMatchObject({
      stopReason: 'permission_required',
      pendingCalls: [
        {
          id: 'a',
          name: 'write_file',
          input: { path: 'a', content: 'x' },
          agentId: expect.stringMatching(/^worker-/),
        },
      ],
    });
    await first.agent.close();

    const second = node([{ text: 'Written.' }], [{ text: 'I wrote a.' }]);
    const decisions = await decided(second.agent, context, { spawn: { type: 'approve' } });
    const reply = await second.agent.resume(context, { decisions });
    expect(reply).toMatchObject({ stopReason: 'completed', text: 'Written.' });
    expect(resultsOf(second.model.requests[0]?.messages ?? [], 'agent_spawn')[0]).toContain('I wrote a.');
    expect(await files()).toEqual(['a']);
    await expect(second.agent.resume(context, { decisions })).rejects.toMatchObject({
      code: 'not_pending',
    });
    await second.agent.close();
  });

  it('is denied with a reason that the subagent reads, and asked for again for its next call', async () => {
    const { node, files } = setup();
    const child = [write('a'), write('b'), { text: 'I wrote b.' }];
    const { agent, model } = node([spawn(), { text: 'ok' }], child);
    await agent.call('go', context);
    const deny = await decided(agent, context, { spawn: { type: 'deny', reason: 'Not a.' } });
    const next = await agent.resume(context, { decisions: deny });
    expect(next.pendingCalls).toMatchObject([{ id: 'b' }]);
    const reply = await agent.resume(context, {
      decisions: { [next.pendingCalls[0]?.approvalId ?? '']: { type: 'approve', always: true } },
    });
    expect(reply.text).toBe('ok');
    expect(await files()).toEqual(['b']);
    expect(resultsOf(model.requests.at(-1)?.messages ?? [], 'agent_spawn')).toHaveLength(1);
    const state = await agent.state(context);
    expect(state?.permissionContext).toEqual({
      allow: [{ tool: 'write_file', match: 'b' }],
      deny: [],
      ask: [],
    });
    await agent.close();
  });

  it('is given up by a new message; the subagent can be asked to go on', async () => {
    const { node, files } = setup();
    const { agent, model } = node([spawn(), { text: 'ok' }], [write('a')]);
    await agent.call('go', context);
    expect((await agent.call('Never mind', context)).stopReason).toBe('completed');
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain('waited for approval');
    expect(await files()).toEqual([]);
    await agent.close();
  });

  it('comes up from two levels below, and from the background where its parent waits for it', async () => {
    const { node, files } = setup();
    const background = {
      toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work', background: true } }],
    };
    const wait = { toolCalls: [{ id: 'wait', name: 'wait_async_results', input: {} }] };
    const child = [spawn(), write('a'), { text: 'below' }, { text: 'above' }];
    const { agent } = node([background, wait, { text: 'ok' }], child, 2);
    const asked = await agent.call('go', context);
    expect(asked.pendingCalls).toMatchObject([
      { id: 'a', agentId: expect.stringMatching(/^worker-.*\/worker-/) },
    ]);
    const reply = await agent.resume(context, {
      decisions: { [asked.pendingCalls[0]?.approvalId ?? '']: { type: 'approve' } },
    });
    expect(reply.text).toBe('ok');
    expect(await files()).toEqual(['a']);
    await agent.close();
  });
});

it('a definition is told by what it is, and not by its JSON', async () => {
  const circular: Model & { self?: unknown } = {
    id: 'own',
    contextWindow: 10_000,
    generate: async () => ({ content: [{ type: 'text', text: 'done' }], finishReason: 'stop' }) as never,
  };
  circular.self = circular;
  const worker = { name: 'worker', description: 'Works', model: circular };
  const model = new ScriptedModel([spawn(), { text: 'ok' }]);
  const agent = parentWith(model, subagents([worker])).build();
  await agent.call('go', context);
  expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain('done');
  await agent.close();
});

it('a definition with limits, and with a capability that holds data, is spawned without writing either as JSON', async () => {
  class Archive implements Capability {
    readonly name = 'archive';
    readonly records = {
      toJSON: () => {
        throw new Error('written as JSON');
      },
    };
  }
  const worker = {
    name: 'worker',
    description: 'Works',
    model: new ScriptedModel([{ text: 'done' }]),
    maxIterations: 1,
    capabilities: [new Archive()],
  };
  const model = new ScriptedModel([spawn(), { text: 'ok' }]);
  const settings = { limits: { modelMs: Number.POSITIVE_INFINITY, callMs: 60_000 } };
  const agent = parentWith(model, subagents([worker], { settings })).build();
  await agent.call('go', context);
  expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain('done');
  await agent.close();
});

it('waits within the limits of its parent, less its own', async () => {
  const never = new Promise<never>(() => {});
  for (const config of [{}, { settings: { limits: { modelMs: 1 } } }]) {
    const model = new ScriptedModel([() => never]);
    const worker = { name: 'worker', description: 'Works', model, settings: { maxRetries: 0 } };
    const parent = new ScriptedModel([spawn(), { text: 'ok' }]);
    const agent = parentWith(parent, subagents([worker], config))
      .limits({ modelMs: 'settings' in config ? 0 : 1 })
      .settings({ maxRetries: 0 })
      .build();
    await agent.call('go', context);
    expect(resultsOf(parent.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain('timed_out');
    await agent.close();
  }
});

it('what a subagent would ask is denied where nobody can be asked above it', async () => {
  const worker = {
    name: 'worker',
    description: 'Works',
    model: new ScriptedModel([
      { toolCalls: [{ id: 'x', name: 'execute', input: { command: 'echo hi' } }] },
      { text: 'ok' },
    ]),
    capabilities: [permissions({ ask: ['execute(echo*)'], allow: ['execute(*)'] })],
  };
  const agent = HarnessAgent.builder()
    .model(
      new ScriptedModel([
        { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work' } }] },
        { text: 'Done' },
      ]),
    )
    .session(new InMemorySession())
    .workspace(scratch())
    .use(
      permissions({ mode: 'dont_ask', allow: ['agent_spawn', 'execute(echo*)'] }),
      shell(),
      subagents([worker]),
    )
    .build();
  expect((await agent.call('Go', RuntimeContext.of({ sessionId: 'unattended' }))).stopReason).toBe(
    'completed',
  );
  expect(JSON.stringify(worker.model.requests.at(-1)?.messages)).toContain('nobody can be asked');
});
