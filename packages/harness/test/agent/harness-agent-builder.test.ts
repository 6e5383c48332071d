import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Capability,
  defineTool,
  InMemorySession,
  mountWorkspace,
  RuntimeContext,
  storageOf,
  type Workspace,
} from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, HarnessConfigError } from '../../src/index.js';
import { scratch } from '../support.js';

const tool = defineTool({ name: 'echo', description: '', input: z.object({}), execute: () => 'x' });

function issuesOf(build: () => unknown): readonly string[] {
  try {
    build();
  } catch (error) {
    if (HarnessConfigError.isInstance(error))
      return error.issues.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

const base = () => HarnessAgent.builder().workspace(scratch()).model(new ScriptedModel([]));

describe('build', () => {
  it('names a missing model', () => {
    expect(issuesOf(() => HarnessAgent.builder().workspace(scratch()).build())).toEqual([
      'model: is missing; pass one with .model()',
    ]);
  });

  it('names every bad setting by its path', () => {
    const issues = issuesOf(() =>
      base()
        .maxIterations(0)
        .settings({ wrong: 1 } as never)
        .build(),
    );
    expect(issues.some((issue) => issue.startsWith('maxIterations: '))).toBe(true);
    expect(issues.some((issue) => issue.includes('wrong'))).toBe(true);
  });

  it('refuses two tools, or two capabilities, of one name', () => {
    const capability: Capability = { name: 'c', tools: [tool] };
    expect(issuesOf(() => base().tools(tool).use(capability).build())).toEqual([
      'tools: "echo" is a duplicate',
    ]);
    expect(issuesOf(() => base().use({ name: 'c' }, { name: 'c' }).build())).toEqual([
      'capabilities: "c" is a duplicate',
    ]);
  });

  it('refuses a capability whose name is not in snake_case', () => {
    const names = ['my_capability', 'a1', 'my-capability', 'myCapability', 'my capability', '_mine', ''];
    const issues = issuesOf(() =>
      base()
        .use(...names.map((name) => ({ name })))
        .build(),
    );
    expect(issues.map((issue) => issue.split(' is not in snake_case')[0])).toEqual([
      'capabilities[2].name: "my-capability"',
      'capabilities[3].name: "myCapability"',
      'capabilities[4].name: "my capability"',
      'capabilities[5].name: "_mine"',
      'capabilities[6].name: ""',
    ]);
  });

  it('refuses an unknown member of a plain capability, which is probably a misspelt hook', () => {
    const misspelt = (members: object) =>
      issuesOf(() =>
        base()
          .use({ name: 'c', ...members })
          .build(),
      );
    expect(misspelt({ aroundTol: () => {} })).toEqual([
      'capabilities[0].aroundTol: unknown key; did you mean aroundTool?',
    ]);
    const [issue] = misspelt({ onEvent: () => {} });
    expect(issue).toMatch(
      /^capabilities\[0\]\.onEvent: unknown key here; .*; known keys are name, .*\bobserve\b/,
    );
    expect(misspelt({ observe: 'all' })).toEqual(['capabilities[0].observe: must be a function']);
    const instance = new (class {
      readonly name = 'c';
      readonly mine = 1;
      observe(): void {}
    })();
    expect(issuesOf(() => base().use(instance).build())).toEqual([]);
    expect(
      issuesOf(() =>
        base()
          .use(Object.assign(instance, { observe: 'all' }) as never)
          .build(),
      ),
    ).toEqual(['capabilities[0].observe: must be a function']);
  });

  it('refuses a workspace that cannot be written', () => {
    const file = join(scratch(), 'file');
    writeFileSync(file, '');
    const [issue] = issuesOf(() =>
      HarnessAgent.builder().model(new ScriptedModel([])).workspace(join(file, 'w')).build(),
    );
    expect(issue).toMatch(/^workspace: .*file/);
  });

  it('warns of sessions that reach further than the files beside them', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on('warning', listen);
    const store = Object.create(new InMemorySession(), { reach: { value: 'cluster' } });
    base().session(store).build();
    base().session(new InMemorySession()).build();
    // A folder of this machine, mounted in files that are shared.
    const shared = Object.create(new LocalWorkspace(scratch()), { reach: { value: 'cluster' } });
    const repo = new LocalWorkspace(scratch(), { readOnly: true });
    base().session(store).workspace(mountWorkspace(shared, { repo })).build();
    base().session(store).workspace(shared).storage(new LocalWorkspace(scratch())).build();
    await new Promise(setImmediate);
    process.off('warning', listen);
    const ours = warnings.filter((warning) => (warning as { code?: string }).code === 'workspace_not_shared');
    expect(ours).toHaveLength(2);
    expect(ours[0]?.message).toMatch(
      /^Other machines can .* If you use one, .*--disable-warning=workspace_not_shared\.$/,
    );
  });

  it('takes sessions and files of a backend in one', async () => {
    const [session, workspace] = [new InMemorySession(), new LocalWorkspace(scratch())];
    const agent = base().distributed({ session, workspace }).build();
    expect(agent.storage).toBe(storageOf(workspace));
    const commit = vi.spyOn(session, 'commit');
    await agent.call('Hi', RuntimeContext.of({ sessionId: 's' })).catch(() => {});
    expect(commit).toHaveBeenCalled();
  });

  it('refuses a store of one machine for a workspace of many', () => {
    const shared: Workspace = Object.create(new LocalWorkspace(scratch()), { reach: { value: 'cluster' } });
    const [issue] = issuesOf(() => base().workspace(shared).session(new InMemorySession()).build());
    expect(issue).toMatch(/^session: keeps sessions in this process only/);
  });

  it.each<
    [path: string, give: (builder: ReturnType<typeof base>, wrong: never) => unknown, wrong: unknown[]]
  >([
    ['model', (it, wrong) => it.model(wrong), [null, 5, {}]],
    ['model', (it, wrong) => it.model(new ScriptedModel([]), wrong), [null, 5]],
    ['fallback', (it, wrong) => it.model(new ScriptedModel([]), { fallback: wrong }), [5, 'x', [5]]],
    ['fallbackWhen', (it, wrong) => it.model(new ScriptedModel([]), { fallbackWhen: wrong }), [5, null]],
    ['tools[0]', (it, wrong) => it.tools(wrong), [null, 5, { definition: null, run: () => {} }]],
    [
      'tools[0].definition.inputSchema',
      (it, inputSchema) => it.tools({ ...tool, definition: { ...tool.definition, inputSchema } }),
      [null, 'x', { type: 'banana' }],
    ],
    [
      'capabilities[0].tools[0].definition.inputSchema',
      (it, inputSchema) =>
        it.use({ name: 'c', tools: [{ ...tool, definition: { ...tool.definition, inputSchema } }] }),
      [null, {}],
    ],
    ['capabilities[0].tools', (it, wrong) => it.use({ name: 'c', tools: wrong }), [5, 'x', [null], [{}]]],
    ['capabilities[0].before', (it, wrong) => it.use({ name: 'c', before: wrong }), [5, 'x', [5]]],
    ['capabilities[0].system', (it, wrong) => it.use({ name: 'c', system: wrong }), [5, 'x', {}]],
    ['narrow', (it, wrong) => it.narrow(wrong), [null, 5, { tools: 5 }, { deny: [null] }, { other: 1 }]],
    ['workspace', (it, wrong) => it.workspace(wrong), [null, 5, {}]],
    ['storage', (it, wrong) => it.storage(wrong), [null, 'x']],
    ['session', (it, wrong) => it.session(wrong), [null, 5, {}]],
    ['distributed', (it, wrong) => it.distributed(wrong), [null, 5]],
    ['tokenCounter', (it, wrong) => it.tokenCounter(wrong), [null, 5, () => 5]],
    ['onEvent[0]', (it, wrong) => it.onEvent(wrong), [null, 5]],
    ['settings', (it, wrong) => it.settings(wrong), [null, 5, []]],
    ['limits', (it, wrong) => it.limits(wrong), [null, 5, { callMs: 'x' }]],
    ['isolation', (it, wrong) => it.isolation(wrong), [null, 5]],
  ])('refuses at %s what is of another type', (path, give, wrong) => {
    for (const value of wrong) {
      const issues = issuesOf(() => {
        const builder = base();
        give(builder, value as never);
        builder.build();
      });
      expect(issues, String(value)).toContainEqual(
        expect.stringMatching(`^${path.replace(/[[\]]/g, '\\$&')}`),
      );
    }
  });
});

it.each([null, 5, 'x', []])('refuses %j in place of the options of a call', async (options) => {
  const agent = base().build();
  const context = RuntimeContext.of({ sessionId: 's' });
  const calls = [
    () => agent.call('Hi', context, options as never),
    () => agent.stream('Hi', context, options as never).reply,
    () => agent.resume(context, options as never),
  ];
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'invalid_input' });
});
