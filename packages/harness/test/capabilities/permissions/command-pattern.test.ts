import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allowsCommand, catchesCommand } from '../../../src/capabilities/permissions/command-pattern.js';
import { scratch } from '../../support.js';
import { EVERYDAY } from './everyday.js';
import { LINES, runIn, SHELLS } from './shells.js';

describe('allowsCommand', () => {
  it.each([
    'npm test',
    'npm test -- --watch',
    '  npm   test  ',
    'npm test && npm test',
    'npm test 2>&1',
    'npm test >/dev/null 2>&1; npm test',
    'npm test HEAD~2 "a b" x=1',
  ])('npm test* allows %j', (line) => {
    expect(allowsCommand(['npm test*'], line)).toBe(true);
  });

  it.each([
    'npm test; rm -rf /',
    'npm test && rm -rf /',
    'npm test || rm -rf /',
    'npm test | sh',
    // A program that is not known may run its words.
    "npm test 'a; rm -rf /'",
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
    expect(allowsCommand(['npm test *', 'git status'], 'npm test && git status; npm test x')).toBe(true);
    expect(allowsCommand(['npm test *', 'git status'], 'npm test | git status')).toBe(true);
    // A program that is not understood may run what comes in.
    expect(allowsCommand(['npm test *', 'git status'], 'git status | npm test x')).toBe(false);
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
    "csh -c 'rm x'",
    "/bin/tcsh -c 'cd y; rm x'",
    "fish -c 'rm x'",
    "alias y='rm x'; y",
    "hyperfine 'rm x'",
    'for x do rm x; done',
    "env -S'rm x'",
    "env --split-string='rm x'",
    "su -c'rm x'",
    "script -qc'rm x'",
    'alias y=rm',
    '{rm,x}',
    'runuser -u x rm y',
    'strace rm x',
    'npx rm x',
    'rm',
    'X=rm; $X y',
    '${X:-rm} y',
    'r$@m y',
    'r$(true)m y',
    '$(which rm) y',
    '"$X" y',
    'true && A=1 `which rm` y',
    'if [ -f x ]; then $X y; fi',
    "echo 'rm x' | sh",
    'printf "rm x" | bash -s',
    'ls | xargs -n1 sh -c',
    `awk 'BEGIN{system("rm x")}'`,
    `perl -e 'system("rm x")'`,
    `python3 -c 'import os; os.system("rm x")'`,
    `node -e 'require("child_process").execSync("rm x")'`,
    "make --eval 'x: ; rm x' x",
  ])('rm * catches %j', (line) => {
    expect(catchesCommand('rm *', line)).not.toBe('no');
  });

  it('looks behind options', () => {
    expect(catchesCommand('git push*', 'git -C . -c a=b --no-pager push origin')).toBe('yes');
    expect(catchesCommand('git push*', 'git commit -m push')).toBe('no');
    // A line that would take long to look through perhaps runs it; one of three thousand words does not.
    expect(catchesCommand('rm -rf /*', `'${'rm '.repeat(60_000)}`)).toBe('perhaps');
    expect(catchesCommand('rm -rf /*', `echo ${'word '.repeat(3_000)}`)).toBe('no');
  });

  it.each(['ls rm', 'grep rm file', 'git commit -m "rm x"', 'rmdir x'])('rm * lets %j be', (line) => {
    expect(catchesCommand('rm *', line)).toBe('no');
  });

  it.each([
    ...EVERYDAY,
    'git commit -m "fix: $x"',
    'A=$B npm test',
    'x=$(git rev-parse HEAD); echo $x',
    'arr=($(ls)); echo {$a,b}',
    'cd "$(git rev-parse --show-toplevel)" && npm test',
    'for f in *.ts; do wc -l "$f"; done',
    '[ "$A" = b ] && echo; test $? -eq 0',
    'docker exec $ID ls',
    'bash build.sh; bash -c "npm test"',
    'echo `date`',
  ])('rm * and dd * let an everyday %j be', (line) => {
    expect(catchesCommand('rm *', line)).toBe('no');
    expect(catchesCommand('dd *', line)).toBe('no');
  });

  it.each(['!', 'a=b ', ';', '(', "'", '"', '$'])('end soon on a line of nothing but %j', (text) => {
    expect(catchesCommand('rm *', text.repeat(200_000 / text.length))).not.toBe('yes');
  });

  it('looks for a program with its directory anywhere in a line', () => {
    for (const line of ['true && ./deploy.sh y', 'echo $(./deploy.sh y)'])
      expect(catchesCommand('./deploy.sh *', line)).toBe('yes');
    expect(catchesCommand('./deploy.sh *', 'sudo ./deploy.sh y')).toBe('perhaps');
    expect(catchesCommand('/usr/bin/python3 *', '.venv/bin/python3 x.py')).toBe('no');
  });

  it.each([
    ['pwn *', '((pwn x))'],
    ['pwn *', '[[ x || pwn == y ]]'],
    ['pwn *', "echo $'\\'; pwn #'"],
    ['pwn *', `echo "\${x:-'}"; pwn; echo "'}"`],
    ['pwn *', 'true &>/dev/null pwn x'],
    ['pwn *', '9>&-pwn x'],
    ['cat *', "find . -name '*.txt' -exec cat {} +"],
    ['wc *', 'find . -print0 | xargs -0 wc -l'],
    ['git push --force*', 'git push --for$x'],
    ['git push --force*', 'git push --forc[e]'],
    ['npm run deploy*', 'npm run $x'],
    ['rm -rf *', 'rm -r$x /'],
    ['*secret*', 'cat sec*'],
  ])('%s perhaps catches %j', (rule, line) => {
    expect(catchesCommand(rule, line)).not.toBe('no');
  });

  it('tells what is known from what may be', () => {
    for (const line of ['cd x && rm y', 'sh -c "rm y"']) expect(catchesCommand('rm *', line)).toBe('yes');
    for (const line of ['sudo rm y', 'ls | xargs rm', '$X y', 'eval rm y'])
      expect(catchesCommand('rm *', line)).toBe('perhaps');
  });

  it('ends soon on long lines', () => {
    const line = `find ${'a '.repeat(20_000)} -exec rm x`;
    expect(catchesCommand('rm *', line)).toBe('perhaps');
    expect(allowsCommand(['find *'], line)).toBe(false);
    expect(allowsCommand(['find *'], `find ${'a '.repeat(3_000)}`)).toBe(true);
  });
});

it('judges long lines as soon as any other', () => {
  const long = [
    `cd${' -'.repeat(45_000)} x`,
    `git status${' '.repeat(95_000)}x`,
    `cat <<-E\n${'\t'.repeat(95_000)}x`,
    `${' '.repeat(95_000)}x`,
  ];
  for (const line of long) {
    expect(allowsCommand(['git status'], line)).toBe(false);
    expect(catchesCommand('git *', line) !== 'no').toBe(/git| -/.test(line));
  }
  expect(allowsCommand(['git status'], ` \n\tgit status${' '.repeat(95_000)}`)).toBe(true);
});
