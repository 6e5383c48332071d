import { defineTool, type JsonObject, type PermissionRule, type Tool, type ToolUseBlock } from '@x/core';
import type { PathRole } from '@x/core/internal';
import { LocalWorkspace } from '@x/core/node';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { judge, type PermissionMode, type Policy } from '../../../src/capabilities/permissions/judge.js';
import { judgedCall } from '../../../src/capabilities/permissions/match-rule.js';
import { plainPath } from '../../../src/capabilities/permissions/path-pattern.js';
import { parseRule } from '../../../src/lib/permission-rule.js';
import { scratch } from '../../support.js';
import { EVERYDAY } from './everyday.js';

interface Flags {
  readonly readOnly?: boolean;
  readonly sessionOnly?: boolean;
  readonly paths?: Readonly<Record<string, PathRole>>;
}
const looseTool = (name: string, flags: Flags = {}, properties: readonly string[] = []) => {
  const shape = Object.fromEntries(properties.map((property) => [property, z.any().optional()]));
  return defineTool({
    name,
    description: name,
    ...flags,
    input: z.looseObject(shape),
    execute: () => 'done',
  });
};
const TOOLS = {
  read_file: looseTool('read_file', { readOnly: true, paths: { path: 'read' } }),
  grep_files: looseTool('grep_files', { readOnly: true, paths: { path: 'walk' } }),
  write_file: looseTool('write_file', { paths: { path: 'write' } }),
  execute: looseTool('execute', {}, ['command']),
  sandboxed: { ...looseTool('execute', {}, ['command']), keepsFiles: true },
  send_mail: looseTool('send_mail'),
  todo_write: looseTool('todo_write', { sessionOnly: true }),
  move: looseTool('move', { paths: { from: 'edit', to: 'write' } }),
  mcp__files__move: looseTool('mcp__files__move', {}, ['path', 'target']),
  mcp__files__write: looseTool('mcp__files__write', {}, ['path']),
};
type ToolName = keyof typeof TOOLS;

const files = new LocalWorkspace(scratch());
await files.write('run.sh', new TextEncoder().encode('true'));

interface Rules {
  readonly mode?: PermissionMode;
  readonly allow?: readonly (string | PermissionRule)[];
  readonly deny?: readonly (string | PermissionRule)[];
  readonly ask?: readonly (string | PermissionRule)[];
}

function policyOf({ mode = 'default', allow, deny, ask }: Rules): Policy {
  const read = (rules: readonly (string | PermissionRule)[] = []) =>
    rules.map((rule) => (typeof rule === 'string' ? parseRule(rule, 'rule', 'test') : rule));
  const editTools = ['write_file', 'edit_file'];
  return { mode, allow: read(allow), deny: read(deny), ask: read(ask), editTools };
}

async function verdict(
  rules: Rules,
  name: ToolName,
  input: ToolUseBlock['input'] = {},
): Promise<'allow' | 'deny' | 'ask' | 'confine'> {
  const call: ToolUseBlock = { type: 'tool_use', id: 'c', name, input };
  const policy = policyOf(rules);
  const judged = await judgedCall(call, TOOLS[name], files, [...policy.deny, ...policy.ask]);
  return judge(policy, judged, TOOLS[name])?.type ?? 'allow';
}

describe('the order of rules and modes', () => {
  it.each<[string, Rules, ToolName, 'allow' | 'deny' | 'ask']>([
    ['default: reading', {}, 'read_file', 'allow'],
    ['default: the session’s own notes', {}, 'todo_write', 'allow'],
    ['default: anything else', {}, 'send_mail', 'ask'],
    ['an allow rule', { allow: ['send_mail'] }, 'send_mail', 'allow'],
    ['an ask rule before an allow rule', { allow: ['send_mail'], ask: ['send_*'] }, 'send_mail', 'ask'],
    ['a deny rule before an ask rule', { ask: ['send_mail'], deny: ['send_mail'] }, 'send_mail', 'deny'],
    ['a deny rule before all', { mode: 'bypass', allow: ['*'], deny: ['send_mail'] }, 'send_mail', 'deny'],
    ['a deny rule on reading', { deny: ['read_file'] }, 'read_file', 'deny'],
    ['an ask rule on reading', { ask: ['read_file'] }, 'read_file', 'ask'],
    ['bypass: anything', { mode: 'bypass' }, 'execute', 'allow'],
    ['bypass: an ask rule', { mode: 'bypass', ask: ['execute'] }, 'execute', 'ask'],
    ['accept_edits: editing', { mode: 'accept_edits' }, 'write_file', 'allow'],
    ['accept_edits: anything else', { mode: 'accept_edits' }, 'execute', 'ask'],
    ['accept_edits: an ask rule', { mode: 'accept_edits', ask: ['write_file'] }, 'write_file', 'ask'],
    ['explore: reading', { mode: 'explore' }, 'read_file', 'allow'],
    ['explore: anything else, allowed or not', { mode: 'explore', allow: ['execute'] }, 'execute', 'deny'],
    ['explore: nothing is asked', { mode: 'explore', ask: ['execute'] }, 'execute', 'deny'],
    ['dont_ask: what is allowed', { mode: 'dont_ask', allow: ['execute'] }, 'execute', 'allow'],
    ['dont_ask: reading', { mode: 'dont_ask' }, 'read_file', 'allow'],
  ])('%s', async (_, rules, tool, expected) => {
    expect(await verdict(rules, tool)).toBe(expected);
  });

  const rule = fc.constantFrom(
    '*',
    'read_file',
    'write_file(src/**)',
    'execute(ls *)',
    'send_mail',
    'e*(rm*)',
  );
  const call = fc.constantFrom<[ToolName, ToolUseBlock['input']]>(
    ['read_file', { path: 'src/a' }],
    ['write_file', { path: 'src/a' }],
    ['write_file', { path: 'b' }],
    ['execute', { command: 'ls -l; rm x' }],
    ['execute', { command: 'ls' }],
    ['send_mail', {}],
  );
  const mode = fc.constantFrom<PermissionMode>('default', 'accept_edits', 'explore', 'bypass', 'dont_ask');

  it('is strict: a rule that forbids never allows more, one that allows never overrules one that forbids', async () => {
    const rank = { allow: 0, confine: 0, ask: 1, deny: 2 };
    await fc.assert(
      fc.asyncProperty(mode, fc.array(rule), fc.array(rule), fc.array(rule), rule, call, async (...given) => {
        const [ownMode, allow, deny, ask, extra, [name, input]] = given;
        const before = await verdict({ mode: ownMode, allow, deny, ask }, name, input);
        const denied = await verdict({ mode: ownMode, allow, deny: [...deny, extra], ask }, name, input);
        const allowed = await verdict({ mode: ownMode, allow: [...allow, extra], deny, ask }, name, input);
        expect(rank[denied]).toBeGreaterThanOrEqual(rank[before]);
        expect(rank[allowed]).toBeLessThanOrEqual(rank[before]);
        if ((await verdict({ mode: 'bypass', deny }, name, input)) === 'deny') {
          expect([before, allowed]).toEqual(['deny', 'deny']);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a rule on arguments', () => {
  const path = (value: unknown) => ({ path: value }) as ToolUseBlock['input'];

  it.each<[string, ToolUseBlock['input'], 'allow' | 'ask']>([
    ['write_file(src/**)', path('src/a.ts'), 'allow'],
    ['write_file(src/**)', path('/src/a.ts'), 'allow'],
    ['write_file(src/**)', path('src/../b.ts'), 'ask'],
    ['write_file(src/**)', path('../src/a.ts'), 'ask'],
    ['write_file(**)', path('../b.ts'), 'ask'],
    ['write_file(src/**)', path('SRC/a.ts'), 'ask'],
    ['write_file(src/**)', path('src\\..\\b.ts'), 'ask'],
    ['write_file(src/**)', path(['src/a', 'src/b']), 'allow'],
    ['write_file(src/**)', path(['src/a', 'b']), 'ask'],
    ['write_file(src/**)', path({ toString: 'src/a' }), 'ask'],
    ['write_file(src/**)', {}, 'ask'],
    ['write_file(src/**)', 'src/a', 'ask'],
  ])('allows by %s with %j: %s', async (rule, input, expected) => {
    expect(await verdict({ allow: [rule] }, 'write_file', input)).toBe(expected);
  });

  it.each<[string, ToolName, ToolUseBlock['input'], 'allow' | 'deny' | 'ask']>([
    ['read_file(secret/**)', 'read_file', path('secret/key'), 'deny'],
    ['read_file(secret/**)', 'read_file', path('./a/../secret/key'), 'deny'],
    ['read_file(secret/**)', 'read_file', path('/SECRET/key'), 'deny'],
    ['read_file(secret/**)', 'read_file', path('secret\\key'), 'deny'],
    ['read_file(**/é)', 'read_file', path('a/e\u0301'), 'deny'],
    ['read_file(secret/**)', 'read_file', path({}), 'deny'],
    ['read_file(secret/**)', 'read_file', path({ name: 'secret/key' }), 'deny'],
    ['read_file(secret/**)', 'read_file', path('src/secret.ts'), 'allow'],
    // A search reads what is below where it begins.
    ['grep_files(secret/**)', 'grep_files', {}, 'deny'],
    ['grep_files(secret/**)', 'grep_files', path(''), 'deny'],
    ['grep_files(a/secret/**)', 'grep_files', path('a'), 'deny'],
    ['grep_files(a/secret/**)', 'grep_files', path('b'), 'allow'],
    ['execute(rm *)', 'execute', { command: 'ls && rm -rf x' }, 'deny'],
    ['*(rm *)', 'execute', { command: 'cd y; RM x' }, 'deny'],
    ['*(rm *)', 'execute', { command: 'sudo RM x' }, 'ask'],
    // The tool has no argument that the pattern could be about.
    ['send_mail(*@rival.com)', 'send_mail', { to: 'ann@acme.com' }, 'deny'],
  ])('denies by %s %s with %j: %s', async (rule, tool, input, expected) => {
    const mode = { mode: 'bypass' as const };
    expect(await verdict({ ...mode, deny: [rule] }, tool, input)).toBe(expected);
  });

  it('are paths where a rule writes them so, whatever their names, and keys are read like values', async () => {
    const src: PermissionRule = { tool: 'mcp__files__write', input: { filename: 'src/**' } };
    expect(await verdict({ allow: [src] }, 'mcp__files__write', { filename: 'src/a/b.ts' })).toBe('allow');
    expect(await verdict({ allow: [src] }, 'mcp__files__write', { filename: 'src/../.env' })).toBe('ask');
    const deny = { mode: 'bypass' as const, deny: ['read(**/.env*)'] };
    expect(await verdict(deny, 'mcp__files__move', { files: { 'a/.env': true } })).toBe('deny');
  });

  it('may name them', async () => {
    const mail: PermissionRule = { tool: 'send_mail', input: { to: '*@acme.com', subject: 'Report ?' } };
    const input = { to: 'ann@acme.com', subject: 'Report 7' };
    expect(await verdict({ allow: [mail] }, 'send_mail', input)).toBe('allow');
    expect(await verdict({ allow: [mail] }, 'send_mail', { ...input, to: ['ann@acme.com', 'x@y.z'] })).toBe(
      'ask',
    );
    expect(await verdict({ allow: [mail] }, 'send_mail', { to: 'ann@acme.com' })).toBe('ask');
    expect(await verdict({ deny: [mail] }, 'send_mail', { ...input, to: ['x@y.z', 'Ann@Acme.com'] })).toBe(
      'deny',
    );
    expect(await verdict({ deny: [mail] }, 'send_mail', { to: 'x@y.z', subject: 'Report 7' })).toBe('ask');
  });

  it('tells absolute paths from relative ones, but in the workspace', async () => {
    const allow = ['mcp__*(src/**)', 'mcp__*(/tmp/**)'];
    expect(await verdict({ allow }, 'mcp__files__write', path('src/a'))).toBe('allow');
    expect(await verdict({ allow }, 'mcp__files__write', path('/src/a'))).toBe('ask');
    expect(await verdict({ allow }, 'mcp__files__write', path('/tmp/a'))).toBe('allow');
    expect(await verdict({ deny: ['mcp__*(src/**)'] }, 'mcp__files__write', path('/src/a'))).toBe('deny');
  });

  it('is about the argument that the tool declares, whatever a call adds', async () => {
    const decoy = { path: '.env', command: 'npm test', file_path: 'src/a' };
    expect(await verdict({ allow: ['write_file(npm test)'] }, 'write_file', decoy)).toBe('ask');
    expect(await verdict({ allow: ['mcp__*(npm test)'] }, 'mcp__files__write', decoy)).toBe('ask');
    expect(await verdict({ allow: ['send_mail(src/**)'] }, 'send_mail', decoy)).toBe('ask');
    expect(await verdict({ deny: ['write_file(.env)'] }, 'write_file', decoy)).toBe('deny');
    expect(await verdict({ deny: ['mcp__*(.env)'] }, 'mcp__files__write', decoy)).toBe('deny');
    expect(await verdict({ deny: ['write_file(src/**)'] }, 'write_file', decoy)).toBe('deny');
    expect(await verdict({ deny: ['send_mail(.env)'] }, 'send_mail', { to: '.env', path: 'a' })).toBe('deny');
  });

  it('covers a command line by several rules, with others beside', async () => {
    const allow = ['execute(npm test*)', 'execute(git status)', 'write_file(src/**)'];
    const run = (command: string) => verdict({ allow }, 'execute', { command });
    expect(await run('npm test && git status')).toBe('allow');
    expect(await run('npm test && git push')).toBe('ask');
  });
});

it('looks up the files of a command line where a rule about files denies or asks, and nowhere else', async () => {
  const call: ToolUseBlock = { type: 'tool_use', id: 'c', name: 'execute', input: { command: 'cat notes' } };
  const against = async (...rules: readonly string[]) => {
    const { deny } = policyOf({ deny: rules });
    return (await judgedCall(call, TOOLS.execute, files, deny)).words;
  };
  expect(await against()).toEqual([]);
  expect(await against('execute(rm *)', 'write_file(notes)')).toEqual([]);
  expect(await against('execute(rm *)', 'read(notes)')).toContainEqual(plainPath('notes'));
  expect(await against('write(**/.env)')).toContainEqual(plainPath('notes'));
});

describe('the suggestion for always', () => {
  const text = fc.string({ unit: fc.constantFrom(...'ab*?\\/; $"\'`(\n.'), minLength: 1, maxLength: 8 });
  const suggest = async (name: ToolName, input: ToolUseBlock['input']) => {
    const judged = await judgedCall({ type: 'tool_use', id: 'c', name, input }, TOOLS[name], files, []);
    const asked = judge(policyOf({}), judged, TOOLS[name]);
    return asked?.type === 'ask' ? asked.suggestion : undefined;
  };

  it('allows the very same command, and no other', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (one, other) => {
        const rule = await suggest('execute', { command: one });
        if (rule === undefined) return;
        expect(await verdict({ allow: [rule] }, 'execute', { command: one })).toBe('allow');
        if ((await verdict({ allow: [rule] }, 'execute', { command: other })) !== 'allow') return;
        if (other.trim() === one.trim()) return;
        // The same words, with other blanks between them or said again.
        const words = (line: string) => line.split(/[\s;|&]+/).filter(Boolean);
        expect([...new Set(words(other))].sort()).toEqual([...new Set(words(one))].sort());
      }),
      { numRuns: 2_000 },
    );
  });

  it('allows the very same file, and no other', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (one, other) => {
        const rule = await suggest('write_file', { path: one });
        if (rule === undefined) return;
        expect(await verdict({ allow: [rule] }, 'write_file', { path: one })).toBe('allow');
        if ((await verdict({ allow: [rule] }, 'write_file', { path: other })) !== 'allow') return;
        expect(plainPath(other).names).toEqual(plainPath(one).names);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps all files of a call, and of a tool that declares none all arguments', async () => {
    for (const [name, input, others] of [
      [
        'move',
        { from: 'a', to: 'b' },
        [
          { from: 'a', to: 'c' },
          { from: 'c', to: 'b' },
        ],
      ],
      [
        'mcp__files__move',
        { path: 'a', target: 'b' },
        [
          { path: 'a', target: 'c' },
          { path: 'c', target: 'b' },
        ],
      ],
    ] as const) {
      const rule = await suggest(name, input);
      const allow = rule === undefined ? [] : [rule];
      expect(await verdict({ allow }, name, input), name).toBe('allow');
      for (const other of others) expect(await verdict({ allow }, name, other), name).toBe('ask');
    }
    // The destination may be any the next time.
    expect(await suggest('move', { from: 'a' })).toBeUndefined();
    expect(await suggest('mcp__files__move', { path: 'a' })).toBeUndefined();
  });

  it('keeps beside a command what may say where and with what it runs, not what limits it', async () => {
    const properties = { command: {}, args: {}, host: { type: 'string' }, timeoutMs: { type: 'integer' } };
    const tool: Tool = {
      ...TOOLS.execute,
      definition: { ...TOOLS.execute.definition, name: 'ssh', inputSchema: { type: 'object', properties } },
    };
    const judged = (input: JsonObject, rules: readonly PermissionRule[] = []) =>
      judgedCall({ type: 'tool_use', id: 'c', name: 'ssh', input }, tool, files, rules);
    const staging = { command: 'git', args: ['status'], host: 'staging', timeoutMs: 5 };
    const asked = judge(policyOf({}), await judged(staging), tool);
    const rule = asked?.type === 'ask' ? asked.suggestion : undefined;
    expect(rule).toEqual({ tool: 'ssh', match: 'git', input: { args: 'status', host: 'staging' } });
    const allow = rule ? [rule] : [];
    const isAsked = async (input: JsonObject) =>
      judge(policyOf({ allow }), await judged(input, allow), tool)?.type;
    expect(await isAsked({ ...staging, timeoutMs: 9 })).toBeUndefined();
    expect(await isAsked({ ...staging, host: 'production' })).toBe('ask');
    expect(await isAsked({ ...staging, args: ['push'] })).toBe('ask');
    expect(await isAsked({ ...staging, args: ['status', 'push'] })).toBe('ask');
    const unnamed = judge(policyOf({}), await judged({ command: 'git' }), tool);
    expect(unnamed).not.toHaveProperty('suggestion');
  });

  it('is these arguments where there is no such argument, and none where no rule could be kept', async () => {
    expect(await suggest('send_mail', { to: 'x' })).toEqual({ tool: 'send_mail', input: { to: 'x' } });
    expect(await suggest('send_mail', { to: { name: 'x' } })).toBeUndefined();
    expect(await suggest('write_file', { path: '../out' })).toBeUndefined();
    expect(await suggest('execute', { command: 'a && b > c' })).toEqual({
      tool: 'execute',
      match: 'a && b > c',
      input: {},
    });
  });
});

describe('a rule for files, and command lines', () => {
  const rules = { allow: ['execute'], deny: ['read(**/.env*)'] };

  it.each(EVERYDAY.map((line) => [line.slice(0, 80), line]))(
    'lets what names none of them run: %s',
    async (_, command) => {
      expect(await verdict(rules, 'execute', { command })).toBe('allow');
    },
  );

  it.each([
    ['cat .env', 'deny'],
    ['source .env.local', 'deny'],
    ["sh -c 'cat a/.env'", 'deny'],
    ['cat .e*', 'ask'],
    ['cat $x', 'ask'],
    ["printf 'cat .e%s' nv | sh", 'ask'],
  ])('judges what names one, or may: %j', async (command, expected) => {
    expect(await verdict(rules, 'execute', { command })).toBe(expected);
    expect(await verdict({ ...rules, mode: 'bypass' }, 'execute', { command })).toBe(expected);
  });

  it('asks about programs that are not known only outside of a sandbox', async () => {
    const writing = { allow: ['*'], deny: ['write(infra/**)'] };
    for (const command of ['terraform plan', 'FOO=1 npm test', 'rsync -a a b', 'git log --unknown']) {
      expect(await verdict(writing, 'execute', { command })).toBe('ask');
      expect(await verdict(writing, 'sandboxed', { command })).toBe('allow');
    }
    expect(await verdict(writing, 'sandboxed', { command: 'cp x infra/x' })).toBe('deny');
    expect(await verdict(writing, 'sandboxed', { command: 'cp x i*' })).toBe('ask');
  });
});
