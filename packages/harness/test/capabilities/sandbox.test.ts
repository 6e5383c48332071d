import { spawnSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, BlockList } from 'node:net';
import os, { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { isPublic } from '../../src/capabilities/internet-proxy.js';
import { keptBelow } from '../../src/capabilities/kept-files.js';
import type { PermissionsConfig } from '../../src/capabilities/permissions/permissions.js';
import type { ShellConfig } from '../../src/capabilities/shell.js';
import {
  bubblewrap,
  container,
  type Executor,
  findSandbox,
  HarnessAgent,
  permissions,
  shell,
} from '../../src/index.js';
import { resultsIn } from '../loop/approvals/support.js';
import { scratch } from '../support.js';
import { GENERATED } from './permissions/grammar.js';

const SECRET = 'canary-7f3a';

function files(texts: Readonly<Record<string, string>>): string {
  const root = scratch();
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** Runs command lines in the sandbox, each in a step of its own; what the model read of each. */
async function run(
  root: string,
  lines: readonly string[],
  rules: PermissionsConfig = {},
  config: ShellConfig = {},
): Promise<readonly string[]> {
  const calls = lines.map((command, index) => ({
    toolCalls: [{ id: `c${index}`, name: 'execute', input: { command } }],
  }));
  const model = new ScriptedModel([...calls, { text: 'Done.' }]);
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(root)
    .isolation('shared')
    .maxIterations(1_000)
    .use(permissions({ mode: 'bypass', ...rules }), shell({ sandbox: 'required', ...config }))
    .build();
  await agent.call('Go', RuntimeContext.of({ sessionId: 's' }));
  await agent.close();
  const results = resultsIn(model);
  return lines.map((_, index) => results[`c${index}`] ?? '');
}

/** Answers of a server that mean harm. */
const ODD = [
  'HTTP/1.1 200 OK\r\nTrailer: X\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 1000 Odd\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nzz\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nX: \x01\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok',
  'no HTTP\r\n\r\n',
  '',
];

/** Ways to open `.env`, `secrets/key` or `vault/key` that no word of the line names. */
const LINES = [
  'cat .e*',
  'ls -A | xargs cat',
  'cp -a . ../c; cat ../c/.env; mkdir c; cp -a .env secrets c; cat c/.env c/secrets/*',
  'find . -type f -exec cat {} +',
  'grep -r . .',
  "python3 -c \"import glob; [print(open(f).read()) for f in glob.glob('**', recursive=True, include_hidden=True) if __import__('os').path.isfile(f)]\"",
  "node -e \"for (const f of require('fs').readdirSync('.')) try { console.log(String(require('fs').readFileSync(f))) } catch {}\"",
  'tar c . | cat',
  'git init -q . && git add -A; git grep --cached .; git show :.env',
  'ln .env hard; cat hard; ln -s .env soft; cat soft; mv .env moved; cat moved; mv secrets s2; cat s2/key',
  'echo "cat .env" > x.sh; sh x.sh; . ./x.sh',
  'x=.env; cat $x; cat "$(printf .e)nv"; cat < .env; while read l; do echo $l; done < .env',
  'cat /proc/self/cwd/.env; cat "$PWD"/.env; cd secrets; cat *; cat ../link ../linked/key',
  'awk "{print}" .env; sed -n p .env; dd if=.env; od -c .env; base64 .env; rev .env',
  'umount .env; umount secrets; cat .env secrets/key',
  'unshare -Urm sh -c "umount .env; cat .env"; nsenter -t 1 -m cat .env',
  'rm -f .env; git checkout .env; cat .env; chmod 777 .env; cat .env',
  'cat a/hard a/b/.env.local',
  'make --eval "x:; cat .env" x; perl -pe 1 .env; zip -r - . | cat; rsync -a . /tmp/r && cat /tmp/r/.env',
];

it('tells the model what commands cannot do in a sandbox', () => {
  const describes = (config: ShellConfig) => shell(config).tools?.[0]?.definition.description;
  expect(describes({ executor: bubblewrap() })).toMatch(
    /input\. Commands run in a sandbox: no network, .*HOME\.$/,
  );
  expect(describes({ executor: bubblewrap({ network: 'host' }) })).toContain('the network of this machine');
  expect(describes({ executor: container({ image: 'node:22' }) })).toContain('image node:22');
  expect(describes({})).not.toContain('sandbox');
});

it('says that commands without a network print only what is in files', () => {
  const originOf = (executor?: Executor) => shell({ executor }).tools?.[0]?.origin;
  expect(originOf(bubblewrap())).toBe('file');
  expect(originOf(container({ image: 'node:22' }))).toBe('file');
  for (const open of [bubblewrap({ network: 'internet' }), bubblewrap({ network: 'host' }), undefined])
    expect(originOf(open)).toBeUndefined();
});

describe('rules that deny files beside a shell', () => {
  const build = (name: string, config: ShellConfig, deny: string[]) => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    HarnessAgent.builder()
      .name(name)
      .model(new ScriptedModel([]))
      .use(permissions({ deny }), shell(config))
      .isolation('shared')
      .build();
    const said = warning.mock.calls.map(([text]) => String(text));
    warning.mockRestore();
    return said;
  };
  const sandbox: Executor = { name: 'box', keepsFiles: true, execution: () => ({ file: 'true', args: [] }) };

  it('warn once where commands have no sandbox', () => {
    expect(build('fenced', {}, ['read(**/.env*)'])).toEqual([
      expect.stringMatching(/read\(\*\*\/\.env\*\) does not prevent programs.*sandbox: 'required'/s),
    ]);
    expect(build('fenced', {}, ['read(**/.env*)'])).toEqual([]);
    expect(build('boxed', { executor: sandbox }, ['read(**/.env*)'])).toEqual([]);
    expect(build('commands', {}, ['execute(rm *)'])).toEqual([]);
  });
});

describe('an address', () => {
  it.each(['1.1.1.1', '93.184.216.34', '2606:4700::1111'])('%s is on the internet', (address) => {
    expect(isPublic(address)).toBe(true);
  });

  it.each(
    '0.0.0.0 10.1.2.3 100.64.0.1 127.9.9.9 169.254.169.254 172.31.0.1 192.168.0.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 fe80::1 fc00::1 fd00:ec2::254 ff02::1 2002:7f00:1:: 2001:0:7f00:1:: 2001:db8::1'.split(
      ' ',
    ),
  )('%s is not', (address) => {
    expect(isPublic(address)).toBe(false);
  });
});

/** Tests if this machine has a working bubblewrap. Setting up the tests fails in the project's workflows if not. */
const runsBubblewrap = () => {
  const args = ['--ro-bind', '/', '/', '--unshare-all', 'true'];
  return spawnSync('bwrap', args, { stdio: 'ignore' }).status === 0;
};

it.skipIf(!runsBubblewrap())(
  'the sandbox is found wherever bubblewrap runs, so that no test below is skipped there',
  () => {
    expect(findSandbox()?.name).toBe('bubblewrap');
  },
);

describe.skipIf(findSandbox() === undefined)('in the sandbox', () => {
  it('a denied file is read by no program, by no name, and is still there', async () => {
    const root = files({
      '.env': SECRET,
      'secrets/key': SECRET,
      'a/b/.env.local': SECRET,
      'a/file': 'plain',
    });
    writeFileSync(join(root, 'vault'), SECRET);
    symlinkSync('vault', join(root, '.env.link'));
    symlinkSync('.env', join(root, 'link'));
    symlinkSync('secrets', join(root, 'linked'));
    linkSync(join(root, '.env'), join(root, 'a/hard'));
    const rules = { deny: ['read(**/.env*)', 'read(secrets/**)'] };
    const results = await run(root, ['cat a/file', ...LINES], rules);
    expect(results[0]).toContain('plain');
    for (const [index, result] of results.entries()) expect(result, LINES[index - 1]).not.toContain(SECRET);
    // A mask asks nobody about lines that are not understood.
    expect(results.join('')).not.toMatch(/may deny this|nobody can be asked/);
    for (const path of ['.env', 'secrets/key', 'a/b/.env.local', 'a/hard'])
      expect(readFileSync(join(root, path), 'utf8')).toBe(SECRET);
  });

  it('keep files from any of 500 lines of a grammar', { timeout: 600_000 }, async () => {
    const root = files({ '.env': SECRET, 'sub/.env.local': SECRET, 'a.txt': 'x' });
    for (const path of ['links/up', 'links/soft', 'links/hard'])
      mkdirSync(join(root, path), { recursive: true });
    symlinkSync('../../sub', join(root, 'links/up/sub'));
    symlinkSync('../../.env', join(root, 'links/soft/page'));
    linkSync(join(root, '.env'), join(root, 'links/hard/page'));
    for (const [at, line] of GENERATED.entries()) writeFileSync(join(root, `run-${at}.sh`), line);
    const runs = 'for f in run-*.sh; do timeout 5 bash ./"$f" < /dev/null; done 2>&1; ls -A';
    const rules = { deny: ['read(**/.env*)'] };
    const copies = `grep -rl ${SECRET} . | cat`;
    const [said = '', copied] = await run(root, [runs, copies], rules, { timeoutMs: 600_000 });
    expect(said).toContain('run-499.sh');
    for (const form of [
      SECRET,
      Buffer.from(SECRET).toString('base64').slice(0, 12),
      [...SECRET].reverse().join(''),
    ])
      expect(said).not.toContain(form);
    // What the lines have copied holds nothing of it either.
    expect(copied).not.toMatch(/\.\//);
  });

  it('a folder that a rule names is hidden as a whole', async () => {
    const root = files({ 'secrets/deep/key': 'x', 'src/secrets.ts': 'x' });
    const search = { folders: new Map(), signal: new AbortController().signal, root };
    const kept = await keptBelow(root, { ...search, rules: [{ use: 'read', match: 'secrets' }] });
    expect(kept.hidden).toContain(join(root, 'secrets'));
    expect(kept.hidden).not.toContain(join(root, 'src/secrets.ts'));
  });

  it('a file that may not be written stays as it is, and what is not understood is asked about', async () => {
    const root = files({ 'lock.json': 'old', 'infra/a.tf': 'old', 'src/a.ts': 'old' });
    const rules = { deny: ['write(lock.json)', 'write(infra/**)'] };
    const allowed = { ...rules, mode: 'dont_ask' as const, allow: ['execute(*)'] };
    const [denied, free] = await run(
      root,
      ['for f in *.json; do echo new > $f; done', 'cp src/a.ts src/b.ts'],
      allowed,
    );
    expect(denied).toContain('may deny this');
    expect(free).toContain('exit 0');
    // Whoever approves such a line has the mask all the same.
    const search = { folders: new Map(), signal: new AbortController().signal, root };
    const kept = await keptBelow(root, {
      ...search,
      rules: [
        { use: 'write', match: 'lock.json' },
        { use: 'write', match: 'infra/**' },
      ],
    });
    const {
      file,
      args,
      handles = [],
    } = bubblewrap().execution(
      'echo new > lock.json; rm -rf infra; mv infra i2; echo new > infra/b.tf; cat lock.json infra/a.tf; echo new > src/a.ts',
      root,
      kept,
    );
    const stdio = ['ignore', 'pipe', 'pipe', ...handles] as const;
    expect(spawnSync(file, args, { encoding: 'utf8', stdio: [...stdio] }).stdout).toBe('oldold');
    expect(
      ['lock.json', 'infra/a.tf', 'src/a.ts'].map((path) => readFileSync(join(root, path), 'utf8')),
    ).toEqual(['old', 'old', 'new\n']);
    expect(existsSync(join(root, 'infra/b.tf'))).toBe(false);
  });

  it('no command plants a program that Git runs later outside of the sandbox', async () => {
    const root = files({ 'a.txt': 'one' });
    const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    git('init', '-q');
    const config = readFileSync(join(root, '.git/config'), 'utf8');
    const attacks = [
      'echo evil > .git/hooks/pre-commit',
      'git config core.fsmonitor ./evil',
      'echo evil >> .git/config',
      'mv .git old; mkdir -p .git/hooks',
      'rm -rf .git/hooks',
      'mv .git/hooks .git/h; mkdir .git/hooks; echo evil > .git/hooks/pre-commit',
    ];
    const commit = 'git -c user.name=a -c user.email=a@b.c commit -qam';
    for (const hooks of ['present', 'missing']) {
      // A new session, so that its results are the only ones.
      rmSync(join(root, '.x'), { recursive: true, force: true });
      if (hooks === 'missing') rmSync(join(root, '.git/hooks'), { recursive: true });
      const results = await run(root, [...attacks, `date +%N >> a.txt; git add a.txt; ${commit} ${hooks}`]);
      expect(results.at(-1)).toContain('exit 0');
      expect(existsSync(join(root, '.git/hooks/pre-commit'))).toBe(false);
      expect(readFileSync(join(root, '.git/config'), 'utf8')).toBe(config);
    }
    expect(git('log', '--format=%s').stdout).toBe('missing\npresent\n');
  });

  it('neither loopback nor a socket of the machine is reached, unless its network is the host’s', async () => {
    const server = createServer((_, response) => response.end('REACHED'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const line = `node -e "fetch('http://127.0.0.1:${port}').then((r) => r.text()).then(console.log, () => console.log('refused'))"`;
    expect(await run(scratch(), [line])).toEqual([expect.stringContaining('refused')]);
    expect(await run(scratch(), [line], {}, { network: 'host' })).toEqual([
      expect.stringContaining('REACHED'),
    ]);
  });

  it('nothing of the kernel or of other folders can be written or filled, not even by root', async () => {
    const root = scratch();
    const lines = [
      `find / -path '/proc/[0-9]*' -prune -o -path ${root} -prune -o -path '/dev/pts/*' -prune -o -type f -writable -print -o -type d -writable -print 2> /dev/null`,
      'for place in / /dev /dev/shm /etc /run /tmp; do head -c 3000000 /dev/zero > $place/full 2> /dev/null; done; du -sbc /full /dev/full /dev/shm /etc /run /tmp 2> /dev/null | tail -n 1',
      'ls -A /etc/ssl /proc/sys/kernel/core_pattern; echo core > /proc/sys/kernel/core_pattern',
      'find / -path /proc -prune -o -path /dev -prune -o -type f -perm /400 ! -perm /044 -print 2> /dev/null',
    ];
    const results = await run(root, lines, {}, { limits: { tmp: 2 ** 21 } });
    const writable = results[0]?.split('\n').slice(1).sort();
    const own = /^\/(?:dev\/(?:full|null|pts|random|shm|tty|urandom|zero)|etc(?:\/.*)?|run|tmp)$/;
    expect(writable?.filter((path) => !own.test(path) && !root.startsWith(`${path}/`))).toEqual([]);
    expect(Number(/(\d+)\s+total/.exec(results[1] ?? '')?.[1])).toBeLessThan(6_000_000);
    expect(results[2]).not.toContain('private');
    expect(results[2]).toMatch(/Read-only file system|Permission denied/);
    expect(results[3]).not.toContain('ssl');
  });

  it('a file or folder whose name is not valid UTF-8 opens no way around a rule', async () => {
    const bytes = (path: string) => Buffer.from(path, 'latin1');
    const root = files({ 'below/plain.pem': SECRET, 'kept/a.txt': 'shown' });
    writeFileSync(bytes(join(root, 'below/caf\xe9.pem')), SECRET);
    linkSync(join(root, 'below/plain.pem'), bytes(join(root, 'below/other\xe9')));
    mkdirSync(join(root, 'outer'));
    mkdirSync(bytes(join(root, 'outer/caf\xe9')));
    mkdirSync(bytes(join(root, 'outer/caf\xe9/.x')));
    writeFileSync(bytes(join(root, 'outer/caf\xe9/.x/session.json')), SECRET);
    const line = 'ls | xargs grep -ra .';
    const [denied] = await run(root, [line], { deny: ['read(**/*.pem)'] });
    const [plain] = await run(root, [line]);
    expect(denied).toContain('shown');
    expect(denied).not.toContain(SECRET);
    expect(plain).not.toContain('session.json');
  });

  it('the internet is reached by a proxy that refuses this machine and its networks', async () => {
    const server = createServer((_, response) => response.end('REACHED'));
    await new Promise<void>((resolve) => server.listen(0, resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', '2130706433', '[::ffff:127.0.0.1]'];
    const others = own.map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
    const curl = (url: string, more = '') => `curl -sS -m 5 ${more} ${url} 2>&1`;
    const lines = [...hosts, ...others].flatMap((host) => [
      curl(`http://${host}:${port}/`),
      curl(`http://${host}:${port}/`, '--proxytunnel'),
      curl(`http://${host}:${port}/`, "--noproxy '*'"),
    ]);
    const results = await run(scratch(), lines, {}, { network: 'internet' });
    for (const [index, result] of results.entries()) {
      expect(result, lines[index]).not.toContain('REACHED');
      expect(result, lines[index]).toMatch(/not on the internet|403|refused|connect|resolve|unreachable/i);
    }
  });

  it('the proxy forwards requests and tunnels to what is on the internet', async () => {
    const server = createServer((request, response) => {
      const { url = '' } = request;
      if (url.startsWith('/odd')) request.socket.end(ODD[Number(url.slice(4))] ?? '');
      else response.end(`${request.method} ${url}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    // Takes this machine for the internet.
    const check = vi.spyOn(BlockList.prototype, 'check').mockReturnValue(false);
    const { networkInterfaces: own } = os;
    os.networkInterfaces = () => ({});
    syncBuiltinESMExports();
    const url = `http://127.0.0.1:${port}/path?q=1`;
    const odd = ODD.map((_, at) => `curl -sS -m 5 http://127.0.0.1:${port}/odd${at}; echo over`);
    const lines = [...odd, `curl -sS ${url}`, `curl -sS --proxytunnel -X PUT -d x ${url}`];
    const results = await run(scratch(), lines, {}, { network: 'internet' });
    check.mockRestore();
    os.networkInterfaces = own;
    syncBuiltinESMExports();
    for (const result of results.slice(0, ODD.length)) expect(result).toContain('over');
    expect(results.slice(ODD.length)).toEqual(['exit 0\nGET /path?q=1', 'exit 0\nPUT /path?q=1']);
  });

  it('memory, files and /tmp have limits, and nobody of the machine is seen', async () => {
    const limits = { memory: 2 ** 28, fileSize: 2 ** 20, tmp: 2 ** 21, processes: 100 };
    const results = await run(
      scratch(),
      [
        'python3 -c "x = bytearray(2 ** 29)"',
        'head -c 2000000 /dev/zero > large; stat -c %s large',
        'for i in 1 2 3; do head -c 1000000 /dev/zero > /tmp/$i; done; du -sb /tmp',
        'ulimit -a; cat /etc/passwd /etc/group; whoami',
        'ls -A /usr/local/etc; grep /usr/local/etc /proc/mounts',
      ],
      {},
      { limits },
    );
    expect(results[0]).toContain('MemoryError');
    expect(results[1]).toContain('1048576');
    expect(results[2]).toMatch(/No space left/);
    expect(results[3]).toMatch(/proc\w*\D+100\b/);
    expect(results[3]?.match(/^\w+:x:/gm)).toHaveLength(2);
    // Configuration of the machine, such as an npmrc with a token: covered by an empty folder whether it has any or not.
    if (existsSync('/usr/local/etc'))
      expect(results[4]).toMatch(/^exit 0\n\w+ \/usr\/local\/etc tmpfs ro,.*$/);
  });
});
