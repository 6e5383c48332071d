import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allowsCommand,
  catchesCommand,
  pathsOf,
} from '../../../src/capabilities/permissions/command-pattern.js';
import { scratch } from '../../support.js';

/** `X_FUZZED_LINES=10000` tries more. */
const LINES = Number(process.env.X_FUZZED_LINES ?? 2_000);
const SHELLS = ['dash', 'bash', 'busybox'] as const;

/** What a line prints in a shell, if the machine has it; a syntax error is nothing that was done. */
function runIn(shell: string, line: string, cwd: string, PATH: string): string {
  const place = [`/bin/${shell}`, `/usr/bin/${shell}`].find((path) => existsSync(path));
  if (place === undefined) return '';
  const applet = shell === 'busybox' ? ['sh'] : [];
  const options = { cwd, env: { PATH, HOME: cwd }, input: '', timeout: 5_000 };
  const { stdout, stderr } = spawnSync(place, [...applet, '-c', line], options);
  return `${stdout}${stderr}`;
}

describe('allowsCommand', () => {
  it.each([
    'npm test',
    'npm test -- --watch',
    '  npm   test  ',
    'npm test && npm test',
    'npm test 2>&1',
    'npm test >/dev/null 2>&1; npm test',
    "npm test 'a; rm -rf /'",
    'npm test HEAD~2 "a b" x=1',
  ])('npm test* allows %j', (line) => {
    expect(allowsCommand(['npm test*'], line)).toBe(true);
  });

  it.each([
    'npm test; rm -rf /',
    'npm test && rm -rf /',
    'npm test || rm -rf /',
    'npm test | sh',
    'npm test & rm -rf /',
    'npm test\nrm -rf /',
    'npm test $(rm -rf /)',
    'npm test "$(rm -rf /)"',
    'npm test `rm -rf /`',
    'npm test "`rm -rf /`"',
    'npm test ${x:-$(rm -rf /)}',
    'npm test > /etc/passwd',
    'npm test < /etc/passwd',
    'npm test <<EOF',
    'npm test >(rm -rf /)',
    "npm test $'\\n'",
    'npm test 2>&1 > out',
    'npm test >/dev/null/../../etc/passwd',
    '(npm test)',
    '{ npm test; }',
    '! npm test',
    'npm test # comment',
    'npm test "',
    "npm test '",
    'npm test \\',
    'PATH=/tmp npm test',
    'npm test "$HOME"',
    'npm test ~',
    'npm test *',
    'npm test a=~/x',
    'npm test \\; x',
    'npm \\\n test',
    'npm test\r',
    '"npm" test',
    // A shell removes backslash and line break before it looks for a substitution.
    'npm test "$\\\n(touch OWNED)"',
    `npm test >${' '.repeat(50)}/dev/nullX`,
    'npm "test"x; ls',
    'npm',
    '',
    ';',
  ])('npm test* does not allow %j', (line) => {
    expect(allowsCommand(['npm test*'], line)).toBe(false);
  });

  it('lets several patterns cover one line', () => {
    expect(allowsCommand(['npm test *', 'git status'], 'npm test && git status | npm test x')).toBe(true);
    expect(allowsCommand(['npm test *'], 'npm testify')).toBe(false);
    expect(allowsCommand(['git status'], 'git status && npm test')).toBe(false);
  });

  it('takes a pattern without wildcards for the very same text, whatever it holds', () => {
    const line = 'grep -c "\\*" $(ls) > out.txt';
    expect(allowsCommand([line.replace(/[*?\\]/g, '\\$&')], ` ${line}\n`)).toBe(true);
    expect(allowsCommand([line.replace(/[*?\\]/g, '\\$&')], `${line}; ls`)).toBe(false);
  });

  it('never lets a shell do anything but what is allowed', () => {
    const token = fc.constantFrom(
      ...[
        'echo ',
        'echo',
        'touch pwned',
        '> pwned',
        ' ',
        'x',
        '\n',
        '\t',
        ';',
        '&',
        '&&',
        '|',
        '||',
        '$(',
        '${',
        '`',
      ],
      ...[
        '(',
        ')',
        '{',
        '}',
        '"',
        "'",
        '\\',
        '#',
        '$',
        '!',
        '=',
        ':-',
        '2>&1',
        '>/dev/null',
        '<',
        '<<',
        'if ',
        '*',
      ],
    );
    const directory = scratch();
    // Each program that a line could name leaves a trace of its run.
    const programs = scratch();
    for (const name of ['x', 'touch', 'pwned']) {
      writeFileSync(join(programs, name), `#!/bin/sh\n: > ${directory}/ran-${name}\n`, { mode: 0o755 });
    }
    const trace = (shell: string, line: string) => runIn(shell, line, directory, programs);
    for (const shell of SHELLS) trace(shell, 'x; pwned');
    expect(readdirSync(directory).sort()).toEqual(['ran-pwned', 'ran-x']);
    for (const name of readdirSync(directory)) rmSync(join(directory, name));
    let ran = 0;
    fc.assert(
      fc.property(fc.array(token, { maxLength: 9 }), (tokens) => {
        const line = `echo ${tokens.join('')}`;
        if (!allowsCommand(['echo*'], line)) return;
        ran++;
        for (const shell of SHELLS) {
          trace(shell, line);
          expect(readdirSync(directory), `${shell}: ${line}`).toEqual([]);
        }
      }),
      { numRuns: LINES },
    );
    expect(ran).toBeGreaterThan(LINES / 100);
  });
});

describe('catchesCommand', () => {
  it.each([
    'rm -rf x',
    '/bin/rm -rf x',
    'cd y && rm -rf x',
    'echo $(rm -rf x)',
    'echo "$(rm -rf x)"',
    'echo "`rm x`"',
    '`rm x`',
    '(rm x)',
    '{ rm x; }',
    '! rm x',
    'A=1 B=2 rm x',
    'sudo -u root rm x',
    'env A=1 rm x',
    "sh -c 'cd y; rm x'",
    'find . -exec rm {} \\;',
    'ls | xargs rm x',
    '"rm" x',
    'r\\m x',
    "r''m x",
    'rm\tx',
    'if true; then rm x; fi',
    'cat <(rm x)',
    'echo ${a:-$(rm x)}',
    'echo "$\\\n(rm x)"',
    '>out rm -rf x',
    '</dev/null rm x',
    'A+=1 rm x',
    "trap 'rm x' EXIT",
    "su -c 'rm x'",
    'flock f rm x',
    'ionice -c3 rm x',
    'parallel rm ::: x',
    'rm',
  ])('rm * catches %j', (line) => {
    expect(catchesCommand('rm *', line)).toBe(true);
  });

  it('looks behind options', () => {
    expect(catchesCommand('git push*', 'git -C . -c a=b --no-pager push origin')).toBe(true);
    expect(catchesCommand('git push*', 'git commit -m push')).toBe(false);
  });

  it.each(['ls rm', 'grep rm file', 'git commit -m "rm x"', 'rmdir x'])('rm * lets %j be', (line) => {
    expect(catchesCommand('rm *', line)).toBe(false);
  });

  it('ends soon on long lines', () => {
    const line = `find ${'a '.repeat(20_000)} -exec rm x`;
    expect(catchesCommand('rm *', line)).toBe(true);
    expect(catchesCommand('rm *', `${line} {} +`)).toBe(true);
    expect(catchesCommand('dd *', line)).toBe(false);
    expect(allowsCommand(['find *'], line)).toBe(true);
  });
});

describe('pathsOf', () => {
  it.each([
    'cat .e*',
    'cat .en?',
    'cat .[e]nv',
    'cat {.env,x}',
    'cat .e{n..n}v',
    'cat $x',
    'cat "$x"',
    'cat ".e${x}nv"',
    'cat "`ls -a`"',
    'cat ~/x',
    'cat a=~/x',
    'cat @(.e)nv',
    'cat "it\'s $x, isn\'t it"',
    "ls # it's\ncat .e* # isn't",
    "cat <<A\n'\nA\ncat .e*\ncat <<A\n'\nA",
    ...['sh', 'bash', '/bin/dash', 'busybox sh', 'env sh', 'xargs sh'].map((name) => `${name} -c 'cat .e*'`),
    'sudo sh -c \'sh -c "cat .e*"\'',
    "eval cat '.e*'",
    "echo 'cat .e*' | sh",
    'find . -exec cat {} +',
    'cd && cat x',
    'cd -; cat x',
    'cat \\',
  ])('are unknown for %j', (line) => {
    expect(pathsOf(line)).toBeUndefined();
  });

  it.each([
    "grep 'a*' x",
    'grep "[a-z]?" x',
    'grep \\$x y',
    'git show HEAD~2',
    '[ -f x ] && { cat x; }',
    "git commit -m 'it {is} ~ $x'",
    'git commit -m "It\'s done"',
    "find . -name '*.ts'",
    'cat x > y 2>&1 # done',
    `echo "${'x'.repeat(1_000_000)}\\" ${'y'.repeat(1_000_000)}"`,
  ])('are known for %.40j', (line) => {
    expect(pathsOf(line)).toBeDefined();
  });

  it.each(['sh -c "cat .env"', 'sh -c \'sh -c "cat .e\\nv"\'', "sh -c 'cat .e'nv", "echo 'cat .env' | sh"])(
    'are those for another shell, too: %j',
    (line) => {
      expect(pathsOf(line)).toContain('.env');
    },
  );

  it('are never less than what a shell reads', () => {
    const token = fc.constantFrom(
      ...[
        'cat ',
        '.e',
        'nv',
        '.env',
        'x',
        ' ',
        '\n',
        ';',
        '|',
        '&',
        '<',
        '<<',
        '#',
        '\\',
        "'",
        '"',
        '$',
        '`',
        '~/',
      ],
      ...[
        '*',
        '?',
        '[',
        ']',
        '{',
        '}',
        ',',
        '(',
        ')',
        '!',
        '=',
        ':',
        'sh -c ',
        'eval ',
        'cd ',
        'd',
        '/',
        '..',
      ],
    );
    const directory = scratch();
    mkdirSync(join(directory, 'd'));
    writeFileSync(join(directory, '.env'), 'canary');
    const read = (shell: string, line: string) => runIn(shell, line, directory, process.env.PATH ?? '');
    for (const shell of SHELLS) expect(`canary${read(shell, 'cat .e*')}`).toMatch(/^(?:canary){1,2}$/);
    fc.assert(
      fc.property(fc.array(token, { maxLength: 9 }), (tokens) => {
        const line = `cat ${tokens.join('')}`;
        if (pathsOf(line)?.every((path) => !path.endsWith('.env')) !== true) return;
        for (const shell of SHELLS) expect(read(shell, line), `${shell}: ${line}`).not.toContain('canary');
      }),
      { numRuns: LINES / 20 },
    );
  });
});
