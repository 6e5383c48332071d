import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pathsOf as pathsIn } from '../../../src/capabilities/permissions/command-paths.js';
import { scratch } from '../../support.js';
import { LINES, runIn, SHELLS } from './shells.js';

const DIRECTORIES = ['secrets', 'Private Notes', 'd'];
const isDirectory = async (path: string) => DIRECTORIES.includes(path.replace(/\/$/, ''));
const pathsOf = (line: string, directory = '') => pathsIn(line, { directory, isDirectory });

describe('the paths of a line', () => {
  it.each([
    'cat .e*',
    'cat .en?',
    'cat .[e]nv',
    'cat {.env,x}',
    'cat .e{n..n}v',
    'cat {{a}b,.env}',
    "cat {'.env',b}",
    'cat $x',
    'cat "$x"',
    'cat ".e${x}nv"',
    'cat .e$?nv',
    'cat secret"$?"',
    'cat "`ls -a`"',
    'cat ~/x',
    'cat a=~/x',
    'cat @(.e)nv',
    "cat $'.e\\x6ev'",
    'cat $".env"',
    'cat "$[1]"',
    '((1<<2))\ncat x',
    "cat <\\\n<E\n'$(cat .env)'\nE",
    'cat <<E\n$(cat .env)\nE',
    "cat <<'E'x\nE",
    'cat a\\ #/../.env',
    'cat "it\'s $x, isn\'t it"',
    "ls # it's\ncat .e* # isn't",
    "cat <<A\n'\nA\ncat .e*\ncat <<A\n'\nA",
    ...[
      'sh',
      'bash',
      'bash-5.2',
      '/bin/dash',
      'BASH',
      'busybox sh',
      'env sh',
      'xargs sh',
      'tcsh',
      'yash',
    ].map((name) => `${name} -c 'cat .e*'`),
    'sudo sh -c \'sh -c "cat .e*"\'',
    "eval cat '.e*'",
    "env -S 'cat .e*'",
    "echo 'cat .e*' | sh",
    "sh <<'E'\ncat .e*\nE",
    "alias ls='cat .e*'",
    ". /dev/stdin <<< 'cat .e*'",
    "if true; then source /dev/stdin <<< 'cat .e*'; fi",
    'find . -exec cat {} "$x" +',
    'cd && cat x',
    'cd -; cat x',
    "eval 'cat Private\\' Notes/key",
    'CDPATH=secrets; cd x && cat key',
    'cat \\',
    "cat '",
    `date -${'u'.repeat(300)}f.env`,
  ])('may be any for %j', async (line) => {
    expect(await pathsOf(line)).toBeUndefined();
  });

  const KEY = 'Private Notes/key';
  it.each([
    ['sh -c "cat .env"', '.env'],
    ['sh -c \'sh -c "cat .e\\nv"\'', '.env'],
    ["sh -c 'cat .e'nv", '.env'],
    ["echo 'cat .env' | sh", '.env'],
    ["env cat 'Private Notes/key'", KEY],
    ['sh -c \'cat "Private Notes/key"\'', KEY],
    ["sh -c 'cat Private\\ Notes/key'", KEY],
    ["eval cat 'Private\\ Notes/key'", KEY],
    ["alias ls='cat Private\\ Notes/key'; ls", KEY],
    ["(cat 'Private Notes/key')", KEY],
    ['{ cat "Private Notes"/key; }', KEY],
    ['cat Private\\ Notes/key', KEY],
    ['cd Private\\ Notes && cat key', KEY],
    ["cp -t 'Private Notes' x && cat key", KEY],
    ["cat 'a(1).env'", 'a(1).env'],
    ["cat '$x'", '$x'],
    ['cat "a;b"', 'a;b'],
    ['cat x<.env', '.env'],
    ['cat 2>&1 <<< .env', '.env'],
    ["xargs cat <<'E'\n.env\nE", '.env'],
    ["xargs -d '\\n' cat <<-E\n\tPrivate Notes/key\n\tE", '\tPrivate Notes/key'],
    ['xargs -0a.env', '.env'],
    ['date -uuuuuuuuuf.env', '.env'],
    ['file -b0f.env', '.env'],
    ['docker run -v .env:/x y', '.env'],
    ['curl -F a=@.env:b', '.env'],
    ['rsync --password-file=.env:x y', '.env:x'],
    ['tar cO key --one-file-system secrets key', 'secrets/key'],
    ['npm --dir secrets run key', 'secrets/key'],
    ['python3 -c "print(open(\'.env\').read())"', '.env'],
    ["node -e 'require(`fs`).readFileSync(`.env`)'", '.env'],
    ['awk \'BEGIN { while (getline < ".env") print }\'', '.env'],
  ])('of %j hold %j', async (line, path) => {
    expect(await pathsOf(line)).toContain(path);
  });

  it('are those that begin where the command does', async () => {
    expect(await pathsOf('cat key /etc/x', 'packages/a')).toEqual(
      expect.arrayContaining(['packages/a/key', '/etc/x']),
    );
    expect(await pathsOf('cat key', 'packages/a')).not.toContain('key');
  });

  it.each([
    "grep 'a*' x",
    'grep "[a-z]?" x',
    'grep \\$x y',
    "grep -rn 'TODO(' src",
    "grep -E '^(a|b)$' x",
    "rg -n 'foo\\(' src",
    'git show HEAD~2',
    'git show HEAD^:src/a.ts',
    'git log @{u}..HEAD',
    'git stash pop stash@{0}',
    "git log --format='%h %s (%an, %ar)' -5",
    "git commit -m 'it {is} ~ $x #12'",
    'git commit -m "It\'s done (#12)"',
    'git commit -m "costs 5$"',
    "git commit -F - <<'EOF'\nIt's `done`: $5, isn't it?\nEOF",
    "git -c user.name='A B' commit --amend --no-edit",
    'git diff --stat main...HEAD -- src',
    "git grep -n 'a b' -- '*.ts'",
    "git for-each-ref --format='%(refname)' refs/heads",
    'git push origin HEAD:refs/heads/x',
    '[ -f x ] && { cat x; }',
    '[[ -d x ]] || mkdir -p x',
    'test -f x; echo $?',
    'npm test; echo "exit code: $?"',
    'npm test; code=$?',
    'npm test; exit $?',
    'npm test -- --watch=false 2>&1 | tail -20',
    'npm run build >/dev/null 2>&1 && echo ok',
    'npx vitest run src/a.test.ts -t "adds 1 + 1"',
    'npx tsc --noEmit -p tsconfig.json | head -n 5',
    'NODE_ENV=test node --test',
    'env NODE_ENV=test npm test -- --grep "a.b"',
    "find . -name '*.ts'",
    "find . -name '*.ts' -not -path './node_modules/*' -exec grep -ln foo {} +",
    "find . -name '*.ts' -exec grep -n foo {} \\;",
    "find . -name '*.ts' | xargs -I{} wc -l {}",
    'ls -la # what is here',
    'cat x > y 2>&1 # done',
    'echo "#1"',
    "echo 'a'\\''b'",
    'echo "say \\"hi\\""',
    'echo a && \\\n  echo b',
    "sed -i 's/foo/bar/g; s/a[0-9]*$//' x",
    "sed -n '1,20p' x",
    "awk '{ print $2 }' x",
    "jq '.scripts | keys[]' package.json",
    "python3 -c 'import sys; print(sys.version)'",
    "python3 - <<'EOF'\nfor x in [1, 2]:\n    print(f'{x}')\nEOF",
    "node -e 'console.log(1)'",
    "cat > run.sh <<'EOF'\n#!/bin/bash\nset -e # it's fine\nfor f in *.ts; do echo \"$f\"; done\nEOF",
    "cat <<'EOF' > a.md\n* it's ${x}\nEOF\nls",
    'cat <<EOF\nplain text\nEOF',
    'curl -s http://localhost:3000/health',
    'curl -H "Authorization: Bearer x" -d \'{"a": [1, 2]}\' localhost',
    'docker run --rm -p 8080:80 nginx:latest',
    'tar czf out.tgz --exclude=node_modules .',
    'chmod +x run.sh && ./run.sh',
    'bash run.sh --fast',
    'sh -c "npm test && npm run lint"',
    'sort -t: -k2,2n x | uniq -c | sort -rn | head',
    'kill %1',
    'sleep 1 &',
    'true || false; :',
    'time npm test',
    'diff -u a b; [ $? -eq 0 ]',
    `echo "${'x'.repeat(1_000_000)}\\" ${'y'.repeat(1_000_000)}"`,
    `echo ${'a.b,c '.repeat(3_000)}`,
  ])('are known in what people write every day: %.60j', async (line) => {
    expect(await pathsOf(line)).toBeDefined();
  });

  it('are never less than what a shell reads', async () => {
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
        '<<E\n',
        'E\n',
        ' \\\n',
        '$?',
        '@',
        'source ',
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
    await fc.assert(
      fc.asyncProperty(fc.array(token, { maxLength: 9 }), async (tokens) => {
        const line = `cat ${tokens.join('')}`;
        if ((await pathsOf(line))?.every((path) => !path.endsWith('.env')) !== true) return;
        for (const shell of SHELLS) expect(read(shell, line), `${shell}: ${line}`).not.toContain('canary');
      }),
      { numRuns: LINES / 20 },
    );
  });
});
