import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pathsOf as pathsIn } from '../../../src/capabilities/permissions/command-paths.js';
import { scratch } from '../../support.js';
import { EVERYDAY } from './everyday.js';
import { LINES, runIn, SHELLS } from './shells.js';

const filesBelow = async (path: string) => (path.endsWith('run.sh') ? [path] : []);
const readPaths = (line: string, directory = '') => pathsIn(line, directory, filesBelow);
/** The paths of a line; `undefined` where it may open any other, too. */
const pathsOf = async (line: string, directory = '') => {
  const paths = await readPaths(line, directory);
  return paths?.isClear && paths.isKnown ? paths.named : undefined;
};

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
    'cat "$!".env',
    'cat "$!"secrets/key',
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
    "printf 'cat .e%s' nv | . /dev/stdin",
    "if true; then source /dev/stdin <<< 'cat .e*'; fi",
    'find . -exec cat {} "$x" +',
    'cd && cat x',
    'cd -; cat x',
    "eval 'cat Private\\' Notes/key",
    'CDPATH=secrets; cd x && cat key',
    "echo 'cat .env' | sh",
    "printf 'cat .e%s' nv | sh",
    "printf 'cat .e%s' nv | bash -o errexit",
    "printf 'cat .e%s' nv | { true; sudo sh -s; }",
    "printf 'cat .e%s' nv | sudo -s",
    'sh < x',
    'sh <(printf x)',
    'sh /dev/stdin',
    'echo .e | xargs -I{} cat {}nv',
    'echo .e | xargs -I % cat %nv',
    'echo .e | xargs -n1I% grep -f%nv x',
    'find . -name .e -exec cat {}nv +',
    'parallel cat {}nv ::: .e',
    "csh -c 'cat .e{n}v'",
    "fish -c 'cat .e\\x6ev'",
    "zsh -c 'cat key<1-9>'",
    "env -S 'cat\\_.env'",
    'cd 2>/dev/null; cat x',
    'cd {a}>/dev/null; cat x',
    "cd ''; cat x",
    'echo .e* | xargs cat',
    '2>ls cat .e*',
    'for f do cat .e*; done',
    'xargs -a <(echo .e*) cat',
    'ls .e* > l; xargs cat < l',
    "printf 'cat .e%s' nv | 2>git sh",
    "printf 'cat .e%s' nv | sh //dev/stdin",
    "printf 'cat .e%s' nv | bash -oe pipefail",
    "printf 'cat .e%s' nv | xargs -I% sh -c %",
    "printf 'cat .e%s' nv | linux64",
    "printf 'cat .e%s' nv | . 2>&1 /dev/stdin",
    'echo env | xargs --repl=% cat .%',
    "runuser root -c 'cat .e*'",
    "command -- . /dev/stdin <<'E'\ncat .e*\nE",
    "time -p . /dev/stdin <<'E'\ncat .e*\nE",
    "function f { . /dev/stdin; }; f <<'E'\ncat .e*\nE",
    "2>/dev/null . /dev/stdin <<'E'\ncat .e*\nE",
    "cat <<EOF\nx\rEOF\n'\nEOF\ncat .e*\n: \\'",
    "cat <<EOF\nx\u2028EOF\n'\nEOF\ncat .e*\n: \\'",
    'cat .e{x},nv}',
    "test -v 'a[$(cat .e* >&2)]'",
    "PS4='$(cat .e*)'; set -x; :",
    "for PS4 in '$(cat .e*)'; do set -x; :; done",
    "printf -v PS4 '$(cat .e%s)' nv; set -x; :",
    "xargs -dx cat <<'E'\nx.envx\nE",
    "xargs --delimiter=x cat <<'E'\nx.envx\nE",
    "xargs -d x cat <<'E'\nx.envx\nE",
    "curl -s 'file:///w/docs/s{oft}'",
    "/proc/self/exe -c 'cat .e*'",
    "printf 'cat .e%s' nv | /proc/self/exe",
    "printf 'cat .e%s' nv | sh ../../../../dev/stdin",
    "printf 'cat .e%s' nv | sh /usr/../dev/stdin",
    "printf 'cat .e%s' nv | sh /./dev/stdin",
    'source <(printf "cat .e%s" nv)',
    'bash <(printf "cat .e%s" nv)',
    'printf -vPS4 "%s(cat .e%s)" "$" nv; set -x; :',
    'printf -v "PS4[0]" "%s(cat .e%s)" "$" nv; set -x; :',
    "env 'BASH_FUNC_echo%%=() { cat .e*; }' ldd --version",
    'set -o history\nhistory -s cat .fnv\nfc -s f=e',
    "bash -c 'set -o history -o histexpand\ncat .fnv\n!!:s/f/e/'",
    "bash -O cdable_vars -c 'x=sec; x+=rets; cd x && cat key'",
    'printf -v x "b[%s(cat .e%s >&2)]" "$" nv; test -v "a[x]"',
    'false; cat $?',
    'set -- x; cat $#',
    'sh -c \'cat "$#"\' a b',
    'cat < $?',
    "PS4+='$(cat .e*)'; set -x; :",
    "read -r PS4 <<< '$(cat .e*)'; set -x; :",
    "declare -n r=PS4; r='$(cat .e*)'; set -x; :",
    "declare -a 'x=($(cat .e*))'",
    "typeset -a 'x=(`cat .e*`)'",
    "export 'x=($(cat .e*))'",
    'read y < x; let y',
    'read y < x; [[ y -eq 1 ]]',
    'read y < x; [[ 1 -lt y ]]',
    'read y < x; declare -i z=y',
    'read y < x; declare -gi z=y',
    "compgen -C 'cat .e*' x",
    'git commit -m "$(cat <<\'EOF\'\nx\nEOF\ncat .env\nEOF\n)"',
    'alias ls=cat; ls .e*',
    'ls() { cat "$@"; }; ls .e*',
    './ls .e*',
    'echo x > $y',
    'cat \\',
    "cat '",
    `date -${'u'.repeat(300)}f.env`,
    "xargs cat <<'E'\n.e\\nv\nE",
    "sed 'r.env' x",
    "sed '$r.env' x",
    "sed 's/.*/cat .env/e' x",
    "sed 's~.*~cat .env~e' x",
    "sed 's%.*%cat secrets/key%e' x",
    "sed 's/.*/cat secrets\\/key/e' x",
    "sed '1{rPrivate Notes/key\n}' x",
    "perl -e 'open F,q^.env^'",
    "printf 'secrets/key\\n' | xargs cat",
    "echo -e 'a\\tsecrets/key' | xargs cat",
    "xargs cat <<'E'\n.env\nE",
    'cat 10</dev/null',
    "cp -t 'Private Notes' x && cat key",
    'tar cO key --one-file-system secrets key',
    'npm --dir secrets run key',
    'f() { cat key; }; g() { cd d; f; }; cd secrets; g',
    'for i in x y z; do cat key; cd d; cd secrets; done',
    "xargs -d '\\n' cat <<-E\n\tPrivate Notes/key\n\tE",
  ])('may be any for %j', async (line) => {
    expect(await pathsOf(line)).toBeUndefined();
  });

  const KEY = 'Private Notes/key';
  it.each([
    ['cat a\\ #/../.env', 'a #/../.env'],
    ['sh -c "cat .env"', '.env'],
    ['sh -c \'sh -c "cat .e\\nv"\'', '.env'],
    ["sh -c 'cat .e'nv", '.env'],
    [`echo '.e"n"v' | xargs cat`, '.env'],
    [`echo "'Private Notes/key'" | xargs cat`, KEY],
    ["curl -F 'f=<.env' x", '.env'],
    ["curl '-Ff=@.env;type=a' x", '.env'],
    ["curl -F 'f=@Notes, private/key;type=x' x", 'Notes, private/key'],
    ['less +:e.env x', '.env'],
    ["psql -c '\\i .env'", '.env'],
    ['node -e \'for (const f of ["Private Notes/key"]) x\'', KEY],
    ["perl5.36-x86_64-linux-gnu -e 'open F,q{.env}'", '.env'],
    ['f() { cat key; }; cd secrets; f', 'secrets/key'],
    ['for i in 1 2; do cat key; cd secrets; done', 'secrets/key'],
    ['cat Private\\ Notes/a\\ 1>&1', 'Private Notes/a 1'],
    ['cat .env\\ 2>&1', '.env 2'],
    ['cat .env.20240101000000000000>&1', '.env.20240101000000000000'],
    ['git commit -m "$(cat <<\'EOF\'\n.env\nEOF\n)"', '.env'],
    ['bash run.sh .env', '.env'],
    ["hyperfine 'cat Private\\ Notes/key'", KEY],
    ["env cat 'Private Notes/key'", KEY],
    ['sh -c \'cat "Private Notes/key"\'', KEY],
    ["sh -c 'cat Private\\ Notes/key'", KEY],
    ["eval cat 'Private\\ Notes/key'", KEY],
    ["alias ls='cat Private\\ Notes/key'; ls", KEY],
    ["(cat 'Private Notes/key')", KEY],
    ['{ cat "Private Notes"/key; }', KEY],
    ['cat Private\\ Notes/key', KEY],
    ['cd Private\\ Notes && cat key', KEY],
    ["cat 'a(1).env'", 'a(1).env'],
    ["cat '$x'", '$x'],
    ['cat "a;b"', 'a;b'],
    ['cat x<.env', '.env'],
    ['cat 2>&1 <<< .env', '.env'],
    ['xargs -0a.env', '.env'],
    ['date -uuuuuuuuuf.env', '.env'],
    ['file -b0f.env', '.env'],
    ['docker run -v .env:/x y', '.env'],
    ['curl -F a=@.env:b', '.env'],
    ['rsync --password-file=.env:x y', '.env:x'],
    ['python3 -c "print(open(\'.env\').read())"', '.env'],
    ["node -e 'require(`fs`).readFileSync(`.env`)'", '.env'],
    ['awk \'BEGIN { while (getline < ".env") print }\'', '.env'],
  ])('of %j hold %j', async (line, path) => {
    expect((await readPaths(line))?.named).toContain(path);
  });

  it('are none of a text that a command keeps or writes', async () => {
    const text = Array.from({ length: 2_000 }, (_, at) => `  const a${at} = .env / "b ${at}"; // c`).join(
      '\n',
    );
    for (const command of ['cat > x.ts', 'mkdir -p d && tee d/x', 'cd d; cat >> x', 'git commit -F -']) {
      const paths = await pathsOf(`${command} <<'E'\n${text}\nE`);
      expect(paths, command).toBeDefined();
      expect(paths, command).not.toContain('.env');
    }
    for (const command of [
      'cat | xargs cat',
      'cat > >(xargs cat)',
      'cat() { xargs cat; }; cat',
      'wc --files0-from=-',
    ])
      expect(await pathsOf(`${command} <<'E'\n.env\nE`), command).toBeUndefined();
  });

  it('are those that begin where the command does', async () => {
    expect(await pathsOf('cat key /etc/x', 'packages/a')).toEqual(
      expect.arrayContaining(['packages/a/key', '/etc/x']),
    );
    expect(await pathsOf('cat key', 'packages/a')).not.toContain('key');
  });

  it.each(EVERYDAY)('are known in what people write every day: %s', async (line) => {
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
        'xargs cat ',
        'echo ',
        '2>',
        'env -S ',
        '\\_',
        '-I{} ',
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
