import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { readLine } from '../../../src/capabilities/permissions/command-line.js';
import { allowsCommand, catchesCommand } from '../../../src/capabilities/permissions/command-pattern.js';
import { judge, type PermissionMode } from '../../../src/capabilities/permissions/judge.js';
import { judgedCall } from '../../../src/capabilities/permissions/match-rule.js';
import { effectOf } from '../../../src/capabilities/permissions/programs.js';
import { parseRule } from '../../../src/lib/permission-rule.js';
import { scratch } from '../../support.js';
import { EVERYDAY, VERDICTS } from './everyday.js';
import { GENERATED } from './grammar.js';
import { HOSTILE, OVERWRITES, RUNS_MORE, RUNS_NO_MORE } from './hostile.js';

const execute = defineTool({
  name: 'execute',
  description: 'Runs.',
  input: z.looseObject({ command: z.string() }),
  execute: () => 'done',
});
let files: LocalWorkspace;

beforeAll(() => {
  const root = scratch();
  for (const path of ['sub', 'src', 'docs']) mkdirSync(join(root, path));
  for (const path of ['.env', 'sub/.env.local', 'a.txt', 'src/a.ts', 'docs/page'])
    writeFileSync(join(root, path), 'KEY=x\n');
  files = new LocalWorkspace(root);
  // Other names of what the rule denies.
  for (const path of ['links', 'links/up', 'links/soft', 'links/hard']) mkdirSync(join(root, path));
  symlinkSync('../../sub', join(root, 'links/up/sub'));
  symlinkSync('../../.env', join(root, 'links/soft/page'));
  linkSync(join(root, '.env'), join(root, 'links/hard/page'));
  for (const path of ['links/out', 'links/h0', 'q\nr']) mkdirSync(join(root, path));
  symlinkSync('../../src', join(root, 'links/out/src'));
  linkSync(join(root, '.env'), join(root, 'links/h0/page'));
  writeFileSync(join(root, 'q\nr/.env'), 'KEY=x\n');
  writeFileSync(join(root, 'run.sh'), 'true\n');
  // Folders that only a link leads to from elsewhere.
  for (const path of ['far', 'far/in', 'links/far', 'evil', 'infra']) mkdirSync(join(root, path));
  for (const path of ['far/in/x', 'far/y.ts', 'far/run', 'evil/y.ts', 'infra/b.ts'])
    writeFileSync(join(root, path), 'KEY=x\n');
  symlinkSync('../../far', join(root, 'links/far/l'));
});

async function verdict(
  command: string,
  mode: PermissionMode = 'bypass',
  allow = 'execute',
  rule = 'read(**/.env*)',
) {
  const deny = [parseRule(rule, 'rule', 'test')];
  const call = { type: 'tool_use' as const, id: 'c', name: 'execute', input: { command } };
  const policy = { mode, allow: [parseRule(allow, 'rule', 'test')], deny, ask: [], editTools: [] };
  return judge(policy, await judgedCall(call, execute, files, deny), execute)?.type ?? 'allow';
}

describe('a rule for files beside a shell', () => {
  it.each(HOSTILE)('lets nobody read by %j', async (line) => {
    for (const mode of ['bypass', 'default'] as const) expect(await verdict(line, mode)).not.toBe('allow');
  });

  it.each(OVERWRITES)('lets nobody change by %j', async (line) => {
    expect(await verdict(line, 'bypass', 'execute', 'write(**/.env*)')).not.toBe('allow');
  });

  it.each([
    ['grep -r KEY links/far/l', 'far/y.*'],
    ["find links/far/l/ -name '*.t*' -exec cat {} +", 'far/y.*'],
    ['bash links/far/l/run links/far/l', 'far/y.*'],
    ['cp -r links/far/l/ k', 'far/y.*'],
    ['cp -r links/far k', 'far/y.*'],
    ['tar czf k.tgz links/far/l/', 'far/y.*'],
    ['cp evil/y.ts links/far/l', 'far/y.*'],
    ['cd links/far/l && grep -r KEY in', 'far/*/x'],
    ['npm test far', 'far/y.*'],
    ['npm test -- far', 'far/y.*'],
    ['pytest links/far', 'far/y.*'],
    ['make far', 'far/y.*'],
    ['cargo run links/far/l', 'far/y.*'],
  ])('knows all files that a walk comes to, through links too: %s', async (line, path) => {
    expect(await verdict(line, 'bypass', 'execute', `read(${path})`)).toBe('deny');
  });

  it('knows the names that files get where they are copied to', async () => {
    for (const line of ['cp src/a.ts infra', 'cp a.txt src/a.ts infra/', 'cd src && cp a.ts ../infra'])
      expect(await verdict(line, 'bypass', 'execute', 'write(infra/a.ts)')).not.toBe('allow');
    expect(await verdict('cp evil/y.ts links/far/l', 'bypass', 'execute', 'write(far/y.ts)')).toBe('deny');
    expect(await verdict('cp a.txt infra', 'bypass', 'execute', 'write(infra/*.ts)')).toBe('deny');
    expect(await verdict('cp a.txt docs', 'bypass', 'execute', 'write(infra/*.ts)')).toBe('allow');
  });

  it('lets nobody read by any of 500 lines of a grammar', async () => {
    const allowed: string[] = [];
    for (const line of GENERATED) if ((await verdict(line)) === 'allow') allowed.push(line);
    expect(allowed).toEqual([]);
    expect(new Set(GENERATED).size).toBe(500);
  });

  it('tells what a walk comes to from what it may', async () => {
    expect(await verdict('grep -rn KEY .')).toBe('deny');
    expect(await verdict("find . -name '*.txt' -exec cat {} +")).toBe('allow');
    expect(await verdict('cp -r nowhere x')).toBe('allow');
    for (const line of ['cp a.txt /tmp/x', 'grep -rn KEY ../other', 'cd ..; diff -u a b'])
      expect(await verdict(line)).toBe('ask');
    expect(await verdict('rg KEY docs')).toBe('allow');
    expect(await verdict('grep -rn KEY a.txt')).toBe('allow');
    expect(await verdict("find src -name '*.ts' -print0 | xargs -0 wc -l")).toBe('allow');
    expect(await verdict('grep -rn -e KEY -C 3 src docs')).toBe('allow');
    expect(await verdict('mv a.txt b.txt')).toBe('allow');
    expect(await verdict('git add -A && git commit -m "x y"')).toBe('allow');
  });
});

it.each(RUNS_MORE)('%j do not allow %j', (rules, line) => {
  expect(allowsCommand(rules, line)).toBe(false);
});

it.each(RUNS_NO_MORE)('%j allow %j', (rules, line) => {
  expect(allowsCommand(rules, line)).toBe(true);
});

describe('a line of 100 KB', () => {
  const signs = [
    'a ',
    'a;',
    '$(',
    '(',
    '{ ',
    '`',
    '"$(',
    '${a:-',
    '@(',
    '[',
    '{a,',
    '<<E ',
    'case x in ',
    '\\',
    'a=b ',
    'xargs ',
  ];
  it.each([...signs, 'find ', "x'", '>a ', '[[ a ]];', '../', '-'])(
    'of %j is not read for long',
    async (sign) => {
      const line = sign.repeat(100_000 / sign.length);
      for (const each of [line, `echo ${line}`, `sh -c '${line}'`]) {
        expect(allowsCommand(['rm *'], each)).toBe(false);
        expect(['no', 'perhaps']).toContain(catchesCommand('rm *', each));
        expect(await verdict(each)).toBeDefined();
      }
    },
  );

  it('of options of a shell is judged as soon as any other', async () => {
    expect(await verdict(`bash -c${'O'.repeat(50_000)}${'-'.repeat(50_000)}`)).toBe('ask');
  });
});

it.each(EVERYDAY.map((line) => [line.slice(0, 80), line]))(
  'asks for nothing everyday: %s',
  async (_, line) => {
    const walks = /^tar /.test(line);
    expect(await verdict(line)).toBe(walks ? 'deny' : 'allow');
  },
);

it.each(VERDICTS.map(([line, expected]) => [line.slice(0, 80), expected, line] as const))(
  'covers words, and no more, by a rule for any words: %s → %s',
  async (_, expected, line) => {
    const found = await verdict(line, 'default', 'execute(*)');
    expect(found).toBe(/^tar /.test(line) ? 'deny' : expected);
  },
);

describe('the words of a known program', () => {
  const lines = [
    ...EVERYDAY.filter((line) => line.length < 1_000),
    'npm test -- -t a -t b',
    'rg -A 3 -C2 x y',
  ];
  const commands = lines.flatMap((line) => readLine(line).commands.map(({ words }) => words));

  /** Counts how many words are compared with an expression. */
  const comparisons = (words: readonly string[]) => {
    const exec = vi.spyOn(RegExp.prototype, 'exec');
    effectOf(words);
    const count = exec.mock.calls.length;
    exec.mockRestore();
    return count;
  };

  it.each(commands.map((words) => [words.join(' ').slice(0, 80), words] as const))(
    'are compared in linear time, whichever are repeated: %s',
    (_, words) => {
      for (let begin = 1; begin < words.length; begin++)
        for (const end of [begin + 1, begin + 2]) {
          const repeated = (times: number) => [
            ...words.slice(0, begin),
            ...Array.from({ length: times }, () => words.slice(begin, end)).flat(),
            '-?',
          ];
          expect(comparisons(repeated(400))).toBeLessThan(3 * comparisons(repeated(200)));
        }
    },
  );

  it.each([
    `npm test -- ${'-t a '.repeat(1_000)}'*'`,
    `jq '${'.'.repeat(50_000)}!' x`,
    `jq '${'.keys'.repeat(10_000)}!' x`,
    `jq '${' | .a'.repeat(10_000)}|| ' x`,
    `test ${'$a'.repeat(10_000)}%%'*'`,
    `sed '${'s/a/b/;'.repeat(10_000)}!' x`,
    `sed 's/${'[a]'.repeat(10_000)}/' x`,
    `python3 -c 'print(${'1'.repeat(50_000)}!'`,
  ])('of 50 KB are judged: %.40s', async (line) => {
    expect(await verdict(line)).toBe('ask');
  });
});
