import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Capability, defineTool, mountWorkspace, RuntimeContext, type Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { workspaceContext } from '@x/memory';
import { ScriptedModel, type ScriptedToolCall } from '@x/testkit';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { PermissionsConfig } from '../../../src/capabilities/permissions/permissions.js';
import {
  agentsFiles,
  HarnessAgent,
  permissions,
  shell,
  skills,
  subagents,
  workspaceTools,
} from '../../../src/index.js';
import { resultsIn } from '../../loop/approvals/support.js';
import { scratch } from '../../support.js';

const CANARY = 'canary-7f3a';
/** Said of what a rule denies, and of what it may deny where nobody can be asked. */
const DENIED = /Denied by the rule|The rule .* may deny this/;
const context = RuntimeContext.of({ sessionId: 's' });
let root: string;

beforeEach(() => {
  root = scratch();
  mkdirSync(join(root, 'secrets'));
  mkdirSync(join(root, 'docs'));
  for (const path of ['.env', 'docs/.env.local', 'secrets/key'])
    writeFileSync(join(root, path), `${CANARY}\n`);
  writeFileSync(join(root, 'docs/page'), 'page\n');
  symlinkSync('../secrets/key', join(root, 'docs/soft'));
  symlinkSync('secrets', join(root, 'folder'));
  mkdirSync(join(root, 'secrets/deep'));
  symlinkSync('secrets/deep', join(root, 'down'));
  linkSync(join(root, 'secrets/key'), join(root, 'docs/hard'));
});

/** Runs calls in one step each under rules; what the model read, by the id of the call. */
async function run(
  rules: PermissionsConfig,
  calls: readonly ScriptedToolCall[],
  workspace: Workspace = new LocalWorkspace(root),
  cwd = root,
) {
  const model = new ScriptedModel([
    ...calls.map((call, index) => ({ toolCalls: [{ ...call, id: `${index}` }] })),
    { text: 'Done.' },
  ]);
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(workspace)
    .use(permissions(rules), workspaceTools(), shell({ cwd }), {
      name: 'own',
      tools: [fetchPage, readOwn],
    })
    .build();
  const reply = await agent.call('Go', context);
  await agent.close();
  return { reply, results: resultsIn(model) };
}

it('judges a path with many steps upwards as soon as any other', async () => {
  const up = '../'.repeat(40);
  const lines = [`cat ${up}x`, `cat ${up}docs/../${up}.env`];
  const calls = lines.map((command) => ({ name: 'execute', input: { command } }));
  const { results } = await run({ mode: 'bypass', deny: ['read(**/.env*)'] }, calls);
  expect(results['0']).not.toContain('denied');
  expect(JSON.stringify(results)).not.toContain(CANARY);
});

const fetchPage = defineTool({
  name: 'fetch_page',
  description: 'Fetches.',
  input: z.strictObject({
    url: z
      .string()
      .trim()
      .overwrite((url) => url.replaceAll('|', '/')),
  }),
  execute: ({ url }) => `fetched ${url}`,
});

/** Opens a file that its input does not name. */
const readOwn = defineTool({
  name: 'read_own',
  description: 'Reads.',
  readOnly: true,
  input: z.strictObject({}),
  execute: async (_, { workspace }) => new TextDecoder().decode(await workspace.read('docs/soft')),
});

describe('a rule about reading', () => {
  const rules: PermissionsConfig = { mode: 'bypass', deny: ['read(**/.env*)', 'read(secrets/**)'] };
  const read = (path: string) => ({ name: 'read_file', input: { path } });

  it('holds for every tool and every name of the file', async () => {
    const { results } = await run(rules, [
      ...['.env', 'docs/.env.local', './docs/../secrets/key', '/secrets/key', 'SECRETS/key'].map(read),
      ...['docs/soft', 'docs/hard', 'folder/key'].map(read),
      { name: 'edit_file', input: { path: 'docs/hard', oldText: 'c', newText: 'd' } },
      { name: 'grep_files', input: { pattern: '.' } },
      { name: 'grep_files', input: { pattern: '.', path: 'folder' } },
      { name: 'grep_files', input: { pattern: '.', path: 'docs/soft' } },
      ...['cat .env', 'cat docs/soft', 'cat < secrets/key', "sh -c 'cat ./.env'", 'f=.env; cat $f'].map(
        (command) => ({ name: 'execute', input: { command } }),
      ),
      { name: 'read_own', input: {} },
      read('docs/page'),
    ]);
    expect(JSON.stringify(results)).not.toContain(CANARY);
    expect(Object.values(results).at(-1)).toContain('page');
    // A search continues with what it may read.
    expect(results['9']).toContain('docs/page:1: page');
  });

  it.each([
    ['Read(**/.env*)', 'READ(**/key)'],
    ['read'],
    ['Read'],
    ['read(ROOT/.env)', 'read(ROOT/secrets/**)'],
    ['read(.env)', 'read(secrets)'],
    ['read(**/.env)', 'read(./se?rets/)'],
    ['read(ROOT/.env)', 'read(ROOT/secrets)'],
    ['read(.)'],
    ['read(ROOT)'],
    ['read_file(.env)', 'read_file(secrets)', 'execute'],
    ['read_file(ROOT/.env)', 'read_file(ROOT/secrets/key)', 'execute'],
  ])('protects however it is written: %s', async (...rules) => {
    const deny = rules.map((rule) => rule.replace('ROOT', root));
    const commands = ['cat .env', 'cat secrets/key'].map((command) => ({
      name: 'execute',
      input: { command },
    }));
    const { results } = await run({ mode: 'bypass', deny }, [read('.env'), read('secrets/key'), ...commands]);
    for (const result of Object.values(results)) expect(result).toContain('Denied by the rule');
  });

  it('covers what is in a folder that it names, if it denies or asks, and one level by *', async () => {
    const calls = ['secrets/key', 'docs/soft', 'docs/page'].map(read);
    const { results } = await run({ mode: 'bypass', deny: ['read(secrets)', 'read(*)'] }, calls);
    expect(JSON.stringify(results)).not.toContain(CANARY);
    expect(results['2']).toContain('page');
    const write = { name: 'write_file', input: { path: 'secrets/deep/new', content: 'x' } };
    const { reply } = await run({ mode: 'bypass', ask: ['write(secrets)'] }, [write]);
    expect(reply.pendingCalls).toHaveLength(1);
    const allowing = await run({ allow: ['write_file(secrets)', 'write(secrets)'] }, [write]);
    expect(allowing.reply.pendingCalls).toHaveLength(1);
  });

  it('holds for a tool that names files by their place on the machine', async () => {
    const fetch = (path: string) => ({ name: 'fetch_page', input: { url: `${root}/${path}` } });
    const { results } = await run(rules, [fetch('secrets/key'), fetch('docs/page')]);
    expect(results['0']).toContain('Denied by the rule');
    expect(results['1']).toContain('fetched');
  });

  it("is no rule for a tool of one's own where it names an argument", async () => {
    const { results } = await run({ mode: 'bypass', deny: [{ tool: 'read', input: { url: 'x' } }] }, [
      read('.env'),
    ]);
    expect(results['0']).toContain(CANARY);
  });

  it('lets a search that would have to be asked for pass over the file', async () => {
    const { results, reply } = await run({ ask: ['read(**/.env*)', 'read(secrets/**)'] }, [
      { name: 'grep_files', input: { pattern: '.' } },
      { name: 'read_file', input: { path: '.env' } },
    ]);
    expect(results['0']).toContain('docs/page:1: page');
    expect(results['0']).not.toContain(CANARY);
    expect(reply.pendingCalls).toMatchObject([{ name: 'read_file', input: { path: '.env' } }]);
  });

  it('lets a tool use the file that was approved, and no other', async () => {
    writeFileSync(join(root, 'a.md'), 'inside');
    const model = new ScriptedModel([
      { toolCalls: [{ id: '0', ...read('a.md') }] },
      { toolCalls: [{ id: '1', name: 'write_file', input: { path: 'b.md', content: 'new' } }] },
      { text: 'Done.' },
    ]);
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(root)
      .use(permissions({ ask: ['read(*.md)', 'write(**)'] }), workspaceTools())
      .build();
    let reply = await agent.call('Go', context);
    for (let asked = 0; asked < 2; asked++) {
      const decisions = Object.fromEntries(
        reply.pendingCalls.map(({ approvalId }) => [approvalId, { type: 'approve' as const }]),
      );
      reply = await agent.resume(context, { decisions });
    }
    await agent.close();
    expect(resultsIn(model)['0']).toContain('inside');
    expect(readFileSync(join(root, 'b.md'), 'utf8')).toBe('new');
  });

  it('asks for each use of a file: who may read it may not write it', async () => {
    const stamp = defineTool({
      name: 'stamp',
      description: 'Reads a file, and writes it.',
      paths: { path: 'read' },
      input: z.strictObject({ path: z.string() }),
      execute: async ({ path }, { workspace }) => {
        await workspace.write(path, 'stamped');
        return 'stamped';
      },
    });
    const model = new ScriptedModel([
      { toolCalls: [{ id: '0', name: 'stamp', input: { path: 'secrets/key' } }] },
      { text: 'Done.' },
    ]);
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(root)
      .tools(stamp)
      .use(permissions({ mode: 'bypass', ask: ['write(secrets/**)'] }))
      .build();
    await agent.call('Go', context);
    await agent.close();
    expect(resultsIn(model)['0']).toContain('Denied by the rule');
    expect(readFileSync(join(root, 'secrets/key'), 'utf8')).toContain(CANARY);
  });

  it('lets a tool that names no files open them once a person has approved the call', async () => {
    const rules: PermissionsConfig = { mode: 'default', ask: ['read(secrets/**)'] };
    const model = new ScriptedModel([
      { toolCalls: [{ id: '0', name: 'open_key', input: {} }] },
      { text: 'Done.' },
    ]);
    const openKey = defineTool({
      name: 'open_key',
      description: 'Reads.',
      input: z.strictObject({}),
      execute: async (_, { workspace }) => new TextDecoder().decode(await workspace.read('secrets/key')),
    });
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(root)
      .tools(openKey)
      .use(permissions(rules))
      .build();
    const { pendingCalls } = await agent.call('Go', context);
    const decisions = Object.fromEntries(
      pendingCalls.map(({ approvalId }) => [approvalId, { type: 'approve' as const }]),
    );
    await agent.resume(context, { decisions });
    await agent.close();
    expect(resultsIn(model)['0']).toContain(CANARY);
  });

  it('holds for the instructions that a folder adds to a result', async () => {
    writeFileSync(join(root, 'secrets/note.md'), CANARY);
    symlinkSync('../secrets/note.md', join(root, 'docs/AGENTS.md'));
    const said = async (rules: PermissionsConfig) => {
      const model = new ScriptedModel([
        { toolCalls: [{ id: '0', ...read('docs/page') }] },
        { text: 'Done.' },
      ]);
      const agent = HarnessAgent.builder()
        .model(model)
        .workspace(root)
        .use(permissions(rules), workspaceTools(), agentsFiles())
        .build();
      await agent.call('Go', RuntimeContext.of({ sessionId: `${rules.deny?.length}` }));
      await agent.close();
      return JSON.stringify(model.requests);
    };
    expect(await said({ mode: 'bypass' })).toContain(CANARY);
    expect(await said(rules)).not.toContain(CANARY);
  });

  it.each<[string, string, () => Capability]>([
    ['a skill', 'skills/a/SKILL.md', () => skills()],
    ['a subagent', 'subagents/leak.md', () => subagents()],
    ['instructions', 'AGENTS.md', () => workspaceContext()],
  ])('holds for what capabilities show by themselves, also in a subagent: %s', async (_, path, part) => {
    writeFileSync(join(root, 'secrets/note.md'), `---\nname: leak\ndescription: ${CANARY}\n---\n${CANARY}`);
    mkdirSync(join(root, dirname(path)), { recursive: true });
    symlinkSync(join(root, 'secrets/note.md'), join(root, path));
    const said = async (deny: readonly string[], ask: readonly string[] = []) => {
      const spawn = { name: 'agent_spawn', input: { agent: 'general-purpose', task: 'Go' } };
      const model = new ScriptedModel([{ toolCalls: [spawn] }, { text: 'Done.' }, { text: 'Done.' }]);
      const { name } = part();
      const builder = HarnessAgent.builder()
        .model(model)
        .workspace(root)
        .use(part(), permissions({ ask: [...ask] }))
        .narrow({ deny });
      if (name !== 'subagents') builder.use(subagents());
      const agent = builder.build();
      await agent.call('Go', RuntimeContext.of({ sessionId: `${deny.length} ${ask.length}` }));
      await agent.close();
      expect(model.requests).toHaveLength(3);
      return model.requests.map((request) => JSON.stringify(request).includes(CANARY));
    };
    expect(await said([])).toEqual([true, true, true]);
    expect(await said(['read(secrets/**)'])).toEqual([false, false, false]);
    expect(await said([], ['read(secrets/**)'])).toEqual([false, false, false]);
  });

  it('holds in a mounted workspace', async () => {
    const mounted = mountWorkspace(new LocalWorkspace(scratch()), { repo: new LocalWorkspace(root) });
    const deny = ['read(repo/secrets/**)'];
    const { results } = await run(
      { mode: 'bypass', deny },
      [read('repo/docs/soft'), read('repo/docs/hard')],
      mounted,
    );
    expect(JSON.stringify(results)).not.toContain(CANARY);
    expect(results['0']).toContain('Denied by the rule');
  });
});

describe('a rule about writing', () => {
  const write = (path: string) => ({ name: 'write_file', input: { path, content: 'x' } });

  it('allows what really lies there, and no link that leads elsewhere', async () => {
    const allow = ['write(docs/**)'];
    expect((await run({ allow }, [write('docs/new')])).reply.stopReason).toBe('completed');
    for (const path of ['docs/../.env', 'docs/soft', 'docs/hard', 'folder/key']) {
      expect((await run({ allow }, [write(path)])).reply.pendingCalls, path).toHaveLength(1);
    }
  });

  it('denies by every name', async () => {
    const { results } = await run({ mode: 'bypass', deny: ['write(secrets/**)'] }, [
      ...['docs/soft', 'folder/new', 'docs/hard'].map(write),
    ]);
    for (const result of Object.values(results))
      expect(result).toContain('Denied by the rule write(secrets/**)');
  });

  it('leaves reading alone, and one about reading leaves writing alone', async () => {
    const reading = { name: 'read_file', input: { path: 'secrets/key' } };
    const read = await run({ mode: 'bypass', deny: ['write(secrets/**)'] }, [reading]);
    expect(read.results['0']).toContain(CANARY);
    const written = await run({ mode: 'bypass', deny: ['read(secrets/**)'] }, [write('secrets/new')]);
    expect(written.results['0']).not.toMatch(/Denied|error/);
  });
});

describe('rules', () => {
  it.each(['./secrets/x', 'a/../secrets/x', '/secrets/x', 'Secrets\\x'])(
    'take any argument for the path that it may be: %s',
    async (destination) => {
      const copy = defineTool({
        name: 'copy',
        description: 'Copies.',
        input: z.strictObject({ destination: z.string() }),
        execute: () => 'copied',
      });
      const model = new ScriptedModel([
        { toolCalls: [{ id: '0', name: 'copy', input: { destination } }] },
        { text: 'x' },
      ]);
      const deny = [{ tool: 'copy', input: { destination: 'secrets/**' } }];
      const agent = HarnessAgent.builder()
        .model(model)
        .workspace(root)
        .tools(copy)
        .use(permissions({ mode: 'bypass', deny }));
      await agent.build().call('Go', context);
      expect(resultsIn(model)['0']).toContain('Denied');
    },
  );

  it('judge the input that the tool will work with', async () => {
    const deny = [{ tool: 'fetch_page', input: { url: 'http://internal/*' } }];
    const call = (url: string) => ({ name: 'fetch_page', input: { url } });
    const { results } = await run({ mode: 'bypass', deny }, [
      call(' http:||internal|admin'),
      call('http://other/'),
    ]);
    expect(results['0']).toContain('Denied');
    expect(results['1']).toBe('fetched http://other/');
  });

  it('are not asked about input that the tool refuses', async () => {
    const { reply, results } = await run({}, [{ name: 'fetch_page', input: { uri: 'x' } }]);
    expect(reply.stopReason).toBe('completed');
    expect(results['0']).toMatch(/^error: .*Correct the input and call the tool again\.$/s);
  });
});

it.each<[string, (linked: Stats) => void, (linked: Stats) => void]>([
  ['touched', () => utimesSync(join(root, 'secrets/key'), 1, 1), touchAsBefore],
  ['moved', () => renameSync(join(root, 'secrets/key'), join(root, 'b-key')), () => undefined],
  ['moved, as it was', () => renameSync(join(root, 'secrets/key'), join(root, 'b-key')), touchAsBefore],
])(
  'takes a linked file that is %s while its names are looked for by all of them, or for any',
  async (_, amid, behind) => {
    const { list } = LocalWorkspace.prototype;
    const busy = vi.spyOn(LocalWorkspace.prototype, 'list').mockImplementation(async function* (
      this: LocalWorkspace,
      ...args
    ) {
      const linked = statSync(join(root, 'docs/hard'));
      for await (const entry of list.apply(this, args)) {
        yield entry;
        if (entry.path === 'docs/hard' && existsSync(join(root, 'secrets/key'))) amid(linked);
      }
      if (args[1]?.recursive) behind(linked);
    });
    const read = { name: 'read_file', input: { path: 'docs/hard' } };
    await setTimeout(50);
    const { results } = await run({ deny: ['read(secrets/**)'] }, [read]);
    busy.mockRestore();
    expect(results['0']).toMatch(/Denied by the rule|the permission check failed/);
  },
);

function touchAsBefore({ atime, mtime }: Stats): void {
  utimesSync(join(root, 'docs/hard'), atime, mtime);
}

it.each<[string, PermissionsConfig, RegExp, number]>([
  ['by none where there are no rules', { mode: 'dont_ask' }, /canary/, 0],
  ['by one that a rule denies', { deny: ['read(**/copy-999)'] }, /Denied by the rule/, 1],
  ['by all where no rule denies one', { deny: ['read(public/**)'] }, /canary/, 3],
])('looks for any number of names of a file: %s', async (_, rules, expected, walks) => {
  for (let at = 0; at < 1_000; at++) linkSync(join(root, 'secrets/key'), join(root, `docs/copy-${at}`));
  await setTimeout(50);
  const list = vi.spyOn(LocalWorkspace.prototype, 'list');
  const { results } = await run(rules, [{ name: 'read_file', input: { path: 'docs/copy-0' } }]);
  const walked = list.mock.calls.filter(([, options]) => options?.recursive).length;
  list.mockRestore();
  expect(results['0']).toMatch(expected);
  expect(walked).toBeLessThanOrEqual(walks);
});

describe('a file that is swapped once its call was judged', () => {
  /** Runs a call under rules, and swaps files between its judgment and its run. */
  async function swapped(rules: PermissionsConfig, call: ScriptedToolCall, swap: () => void) {
    const swapper: Capability = {
      name: 'swapper',
      aroundTool(use, _, next) {
        swap();
        return next(use);
      },
    };
    const model = new ScriptedModel([{ toolCalls: [{ id: '0', ...call }] }, { text: 'Done.' }]);
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(new LocalWorkspace(root))
      .isolation('shared')
      .use(permissions(rules), workspaceTools(), swapper)
      .build();
    await agent.call('Go', context);
    await agent.close();
    return resultsIn(model)['0'];
  }

  const turn = (place: string, target: string) => () => {
    renameSync(join(root, place), join(root, 'elsewhere'));
    symlinkSync(target, join(root, place));
  };

  it('is not read where a rule denies it by another of its names', async () => {
    const result = await swapped(
      { mode: 'bypass', deny: ['read(**/.env*)'] },
      { name: 'read_file', input: { path: 'docs/page' } },
      () => {
        renameSync(join(root, 'docs/page'), join(root, 'docs/old'));
        linkSync(join(root, '.env'), join(root, 'docs/page'));
      },
    );
    expect(result).toContain('Denied by the rule read(**/.env*)');
  });

  it.each([
    ['read_file', { path: 'docs/page' }, { deny: ['read(other/**)'] }],
    ['write_file', { path: 'docs/page', content: 'x' }, { allow: ['write(docs/**)'] }],
    ['write_file', { path: 'docs/new', content: 'x' }, { mode: 'accept_edits' }],
    ['edit_file', { path: 'docs/page', oldText: 'p', newText: 'x' }, { mode: 'bypass' }],
  ] as const)('is neither read nor written in its place: %s %j', async (name, input, rules) => {
    const result = await swapped(rules as PermissionsConfig, { name, input }, turn('docs', 'secrets'));
    expect(result).toContain('leads to another file than when the call was judged');
    expect(existsSync(join(root, 'secrets/new'))).toBe(false);
    expect(existsSync(join(root, 'secrets/page'))).toBe(false);
  });

  it('may be replaced by another one of its name', async () => {
    const result = await swapped(
      { mode: 'bypass', deny: ['read(secrets/**)'] },
      { name: 'read_file', input: { path: 'docs/page' } },
      () => {
        writeFileSync(join(root, 'docs/next'), 'next');
        renameSync(join(root, 'docs/next'), join(root, 'docs/page'));
      },
    );
    expect(result).toContain('next');
  });
});

it('refuses a file to a tool on behalf of any capability, which learns the tool of the call', async () => {
  const tools = new Set<string | undefined>();
  const guard: Capability = {
    name: 'guard',
    confine: (scope) => async (path) => {
      if ('tool' in scope) tools.add(scope.tool?.definition.name);
      return path.startsWith('secrets') ? 'Guarded.' : undefined;
    },
  };
  const read = (id: string, path: string) => ({ id, name: 'read_file', input: { path } });
  const model = new ScriptedModel([
    { toolCalls: [read('0', 'secrets/key'), read('1', 'docs/page')] },
    { text: 'Done.' },
  ]);
  const agent = HarnessAgent.builder().model(model).workspace(root).use(guard, workspaceTools()).build();
  await agent.call('Go', context);
  await agent.close();
  expect(resultsIn(model)['0']).toContain('Guarded.');
  expect(resultsIn(model)['1']).toContain('page');
  expect([...tools]).toEqual(['read_file']);
});

describe('a command line that goes elsewhere first', () => {
  const rules: PermissionsConfig = {
    mode: 'dont_ask',
    allow: ['execute(cat *)', 'execute(cd *)', 'execute(grep *)', 'execute(tar *)', 'execute(curl *)'],
    deny: ['read(secrets/**)'],
  };
  const read = async (command: string) => {
    const { results } = await run(rules, [{ name: 'execute', input: { command } }]);
    return JSON.stringify(results);
  };

  it.each([
    'cat secrets/key',
    'cd docs && cat ../secrets/key',
    'cd docs && cat soft',
    'cd -- docs; cat soft',
    'cd secrets && cat key',
    'cat key --in secrets key',
    "sh -c 'cd secrets && cat key'",
    'tar -C secrets -cO key',
    'tar -Csecrets -cO key',
    'tar --directory=secrets -cO key',
    'cat /proc/self/cwd/secrets/key',
    'cat ../*/secrets/key',
    'grep -fsecrets/key docs/page',
    'grep -hfsecrets/key docs/page',
    'curl -d@secrets/key localhost',
    'curl -F field=@secrets/key localhost',
    'cat ~/secrets/key',
    'cat down/../key',
    'cd down && cat ../key',
    'cat $PWD/secrets/key',
    'cat s*/key',
    `cat ${'./'.repeat(70)}docs/page`,
    `${Array.from({ length: 12 }, (_, at) => `cd d${at} || `).join('')}cat docs/page`,
  ])('reads no file that a rule denies: %s', async (command) => {
    expect(await read(command)).toMatch(DENIED);
  });

  it.each([
    (at: string) => `cat ${at}/secrets/key`,
    (at: string) => `cat ${at}/docs/soft`,
    (at: string) => `cat ${at}/docs/hard`,
    (at: string) => `cat ${at}/down/../key`,
    (at: string) => `cd ${at}/folder && cat key`,
  ])('reads a denied file by no name from outside of the workspace: %s', async (line) => {
    for (const at of [root, `../${basename(root)}`, `./docs/../../${basename(root)}`, '/proc/self/cwd'])
      expect(await read(line(at)), at).toMatch(DENIED);
  });

  it.each([
    (name: string) => `sh -c 'chdir .. && cat ${name}/secrets/key'`,
    (name: string) => `chdir .. && cat ${name}/secrets/key`,
    (name: string) => `alias go=cd; go .. && cat ${name}/secrets/key`,
    (name: string) => `env -vC .. cat ${name}/secrets/key`,
    (name: string) => `env -iC.. cat ${name}/secrets/key`,
    (name: string) => `env --chd=.. cat ${name}/secrets/key`,
    (name: string) => `env --chdir ../.. cat ${basename(dirname(root))}/${name}/secrets/key`,
    (name: string) => `tar -cC .. ${name}/secrets/key | cat`,
    (name: string) => `tar cC .. ${name}/secrets/key`,
    (name: string) => `tar --dir=.. -cO ${name}/secrets/key`,
    (name: string) => `python3 -c 'import os; os.chdir(".."); print(open("${name}/secrets/key").read())'`,
    (name: string) => `up=..; shopt -s cdable_vars; cd up && cat ${name}/secrets/key`,
    (name: string) => `cd ${dirname(root)}; cat ${name}/secrets/key`,
    (name: string) => `env -vC ${dirname(root)} cat ${name}/secrets/key`,
    (name: string) => `cd -P down/..; cat ../${name}/secrets/key`,
  ])('reads a denied file by no way above the workspace: %s', async (line) => {
    const call = { name: 'execute', input: { command: line(basename(root)) } };
    const { results } = await run({ mode: 'dont_ask', allow: ['execute'], deny: ['read(secrets/**)'] }, [
      call,
    ]);
    expect(JSON.stringify(results)).toMatch(DENIED);
  });

  it('leaves a directory that a link leads to by the name of the link', async () => {
    mkdirSync(join(root, 'a'));
    symlinkSync('../secrets/deep', join(root, 'a/down'));
    symlinkSync('../secrets/key', join(root, 'a/plain'));
    for (const line of ['cd a/down; cd ..; cat plain', 'cd a/down; cd ..; cat key'])
      expect(await read(line), line).toMatch(DENIED);
  });

  it('reads a denied file by no link that a workspace takes for none of its files', async () => {
    const links = {
      here: '.',
      away: '/proc/self/cwd',
      'we\\ird': 'secrets',
      'k\\1': 'secrets/key',
      'a:': 'secrets',
    };
    for (const [link, target] of Object.entries(links)) symlinkSync(target, join(root, link));
    linkSync(join(root, 'secrets/key'), join(root, 'k\\2'));
    for (const line of [
      `cat here/../${basename(root)}/secrets/key`,
      `cat here/here/../${basename(root)}/folder/key`,
      'cat away/secrets/key',
      "cat 'we\\ird/key'",
      "cat 'k\\1'",
      "cat 'k\\2'",
      'cat a:/key',
      'cat docs/hard',
      'cat folder/key',
    ])
      expect(await read(line), line).toMatch(DENIED);
    expect(await read("cat docs/page 'k\\3' 'docs\\.page'")).toContain('page');
    expect(await read(`cat docs/page ${'x'.repeat(300)}`)).toContain('page');
  });

  it('is judged from the directory in which commands run', async () => {
    const inDocs = async (command: string, deny: string) => {
      const allow = ['execute(cat *)'];
      const call = { name: 'execute', input: { command } };
      const workspace = new LocalWorkspace(root);
      const { results } = await run(
        { mode: 'dont_ask', allow, deny: [deny] },
        [call],
        workspace,
        join(root, 'docs'),
      );
      return JSON.stringify(results);
    };
    for (const line of [
      'cat .env.local',
      'cat ./.env.local',
      'cat ../docs/.env.local',
      `cat ${root}/docs/.env.local`,
    ])
      expect(await inDocs(line, 'read(docs/.env*)'), line).toMatch(DENIED);
    expect(await inDocs('cat ../secrets/key', 'read(secrets/**)')).toMatch(DENIED);
    const link = join(scratch(), 'docs');
    symlinkSync(join(root, 'docs'), link);
    const { results } = await run(
      { mode: 'bypass', deny: ['read(secrets/**)'] },
      [{ name: 'execute', input: { command: 'cat soft' } }],
      new LocalWorkspace(root),
      link,
    );
    expect(results['0']).toMatch(DENIED);
    expect(await inDocs('cat page', 'read(page)')).toContain('page');
  });

  it('reads what no rule denies, wherever it goes first', async () => {
    expect(await read('cd docs && cat page')).toContain('page');
    expect(await read(`cd docs && cat ${join(root, 'docs/page')}`)).toContain('page');
    const subshells = ['docs', 'secrets/..', 'docs'].map((path) => `(cd ${path} && echo x)`).join('; ');
    expect(await read(subshells)).toContain('nobody can be asked');
  });
});
