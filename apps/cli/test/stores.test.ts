import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { openSession, SessionKey, type SessionStore, storageOf, userMessage } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { JsonSession, LocalWorkspace, WorkspaceSession, WorkspaceSessionLog } from '@x/core/node';
import { SqliteSession } from '@x/session-sqlite';
import { afterEach, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { sessions } from '../src/commands/sessions/sessions.js';
import { openStore } from '../src/open-store.js';
import { checkedAddress, ownSessionsFile, storeKind, storeNames, withoutSecrets } from '../src/stores.js';
import { x } from './support/run-command.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-cli-stores-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

const own = `x_${randomBytes(6).toString('hex')}`;
const stores = {
  redis: () => ({ redis: inject('redisUrl'), 'key-prefix': `${own}:` }),
  mysql: () => ({ mysql: inject('mysqlUrl'), table: own }),
  postgres: () => ({ postgres: inject('postgresUrl'), table: own }),
  sqlite: () => ({ sqlite: join(directory, 'below/sessions.db') }),
  directory: () => ({ directory }),
};

it.each(['redis', 'mysql', 'postgres'] as const)(
  'sessions of another prefix or table are apart (%s)',
  async (kind) => {
    const key = SessionKey.of({ sessionId: own });
    const { [kind]: url, ...part } = stores[kind]() as Record<string, string>;
    const [chosen, usual] = await Promise.all(
      [part, {}].map((options) =>
        openStore({ workspace: '.', [kind]: url, ...options }, { readOnly: false, createTables: true }),
      ),
    );
    const session = await openSession(chosen?.store ?? expect.fail(), key);
    session.state.contextMutable().push(userMessage('Hello'));
    await session.commit();
    expect(await usual?.store.load(key)).toBeUndefined();
    expect(await chosen?.store.delete(key)).toBe(true);
    await Promise.all([chosen?.close(), usual?.close()]);
  },
);

it.each(Object.entries(stores))(
  'an id in the place of a key is refused, and means no session (%s)',
  async (_, chosen) => {
    const { store, close } = await openStore(
      { workspace: '.', ...chosen() },
      { readOnly: false, createTables: true },
    );
    const id = 's-001' as unknown as SessionKey;
    for (const attempt of [() => store.load(id), () => store.delete(id)]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining("SessionKey.of('s-001')"),
      });
    }
    await close();
  },
);

describe.each(Object.entries(stores))('sessions in %s', (kind, chosen) => {
  it('are listed, shown, exported and deleted, those that the options name and no others', async () => {
    const key = SessionKey.of({ userId: 'alice', agentId: 'coder', sessionId: `of-${kind}` });
    const workspace = join(directory, 'logs');
    const { store, close } = await openStore(
      { workspace, ...chosen() },
      { readOnly: false, createTables: true },
    );
    const session = await openSession(store, key);
    session.state.contextMutable().push(userMessage('First'), userMessage('Second'));
    await session.commit();

    const options = Object.entries(chosen()).flatMap(([name, value]) => [`--${name}`, value]);
    const where = [...options, '-u', 'alice', '-a', 'coder', '-w', workspace];
    const { sessionId } = key.parts;
    const [listed, forPeople, shown] = await Promise.all([
      x(['sessions', 'list', '--json', ...options]),
      x(['sessions', 'list', ...options]),
      x(['sessions', 'show', sessionId, '--json', '--last', '1', ...where]),
    ]);
    expect(JSON.parse(listed.stdout)).toMatchObject({ sessionId, version: 1 });
    expect(forPeople.stdout).toMatch(
      new RegExp(`^(just now|\\d+ min ago) +v1 {2}${sessionId} {2}\\(alice / coder\\) {2}First\n$`),
    );

    expect(shown.stderr).toContain(`There is no log in ${workspace}`);
    expect(JSON.parse(shown.stdout)).toEqual(session.state.context[1]);

    // With a log, what compaction removed from the session is shown too.
    const log = new WorkspaceSessionLog(storageOf(new LocalWorkspace(workspace)), key);
    await log.append([userMessage('Compacted'), ...session.state.context]);
    const [logged, exported] = await Promise.all([
      x(['sessions', 'show', sessionId, ...where]),
      x(['sessions', 'export', sessionId, ...where]),
    ]);
    expect(logged).toMatchObject({ status: 0, stderr: '' });
    expect(logged.stdout).toMatch(/Compacted.*First.*Second/s);

    expect(exported.stdout.trim().split('\n')).toHaveLength(4);
    expect(await x(['sessions', 'delete', sessionId, '--yes', ...where])).toMatchObject({ status: 0 });
    expect(await store.load(key)).toBeUndefined();
    expect(await x(['sessions', 'show', sessionId, ...where])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('There is no session'),
    });
    await close();
  }, 60_000);
});

describe('a damaged session', () => {
  it('hides no other in a listing', async () => {
    const store = new JsonSession({ directory });
    for (const sessionId of ['good', 'bad']) {
      const session = await openSession(store, SessionKey.of({ sessionId }));
      session.state.contextMutable().push(userMessage('Hello'));
      await session.commit();
    }
    const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
    const damaged = files.find((file) => /\bbad\b.*\.json$/.test(file)) ?? '';
    writeFileSync(join(directory, damaged), 'no JSON');

    const { status, stdout, stderr } = await x(['sessions', 'list', '--directory', directory]);
    expect(stdout).toMatch(/^\w+ \w.* {2}v1 {2}good .*\n$/);
    expect(stderr).toContain('is damaged');
    expect(stderr).toContain(damaged);
    expect(status).toBe(1);
  });
});

it.each<[string, Parameters<typeof openStore>[0], string]>([
  [
    'Redis and MySQL',
    { workspace: '.', redis: 'redis://h', mysql: 'mysql://h/d' },
    '--redis and --mysql select',
  ],
  [
    'a directory and Redis',
    { workspace: '.', directory: '.', redis: 'redis://h' },
    '--directory and --redis select',
  ],
  ['a prefix of nothing', { workspace: '.', 'key-prefix': 'a:' }, '--key-prefix needs --redis URL'],
  ['a prefix in MySQL', { workspace: '.', mysql: 'mysql://h/d', 'key-prefix': 'a:' }, '--key-prefix needs'],
  [
    'a table of Redis',
    { workspace: '.', redis: 'redis://h', table: 't' },
    '--table needs --mysql URL or --postgres URL',
  ],
  ['no such directory', { workspace: '.', directory: '/no/such' }, 'There is no directory /no/such'],
  [
    'a prefix with braces',
    { workspace: '.', redis: 'redis://h', 'key-prefix': '{a}' },
    '--key-prefix must not',
  ],
  [
    'a table with a space',
    { workspace: '.', mysql: 'mysql://h/d', table: 'a b' },
    '--table must be at most 48 letters',
  ],
  ['no address', { workspace: '.', redis: '' }, 'The address of --redis must be'],
])('refuses %s', async (_name, values, message) => {
  await expect(openStore(values, { readOnly: true })).rejects.toThrow(message);
});

describe('passwords', () => {
  it.each([
    'redis://:secr#et@host',
    'redis://user:12/secret@host',
    'redis://user:12?secret@host',
    'redis://user:secr%et@host',
    'redis:user:secret@host',
    'user:secret@host',
    '//user:secret@host',
  ])('are not taken for a host (%#)', async (address) => {
    for (const name of storeNames.filter((store) => storeKind(store).schemes !== undefined)) {
      const redacted = new RegExp(`^(?!.*(secr|user:12)).*must be ${name}`);
      const values = { workspace: '.', [name]: address.replace('redis', name) };
      await expect(openStore(values, { readOnly: true })).rejects.toThrow(redacted);
    }
  });

  it('of good addresses reach the driver', () => {
    for (const address of ['rediss://u:p%40%23@h:1/2', 'redis://h?password=a', '/run/redis.sock']) {
      expect(checkedAddress('redis', address)).toBe(address);
    }
    expect(checkedAddress('mysql', 'mysql://u:p@h:1/d?x=1')).toBe('mysql://u:p@h:1/d?x=1');
  });

  it('are taken out of texts', () => {
    expect(withoutSecrets('no redis://u:a b"@c@host:1 here')).toBe('no redis://***@host:1 here');
    expect(withoutSecrets('no MYSQL%3A%2F%2Fu%3Ap%40host')).toBe('no MYSQL%3A%2F%2F***@host');
    expect(withoutSecrets('redis://host?password=p&db=1')).toBe('redis://host?password=***&db=1');
    expect(withoutSecrets('at file:///a/@x/core https://b@c')).toBe('at file:///a/@x/core https://b@c');
  });

  it('are not what a message shows of how an address is written', async () => {
    for (const name of storeNames.filter((store) => storeKind(store).schemes !== undefined)) {
      const { stderr } = await x(['sessions', `--${name}`, 'nowhere']);
      expect(stderr).toContain(`must be ${storeKind(name).example}; in a password write %40 for @`);
    }
  });

  it('never appear, whatever is wrong', async () => {
    // A server that hangs up at once.
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const redis = `redis://user:secret@127.0.0.1:${port}`;
    const ended = await Promise.all(
      [
        ['sessions', 'list', '--redis', redis],
        ['sessions', 'list', '--mysql', `mysql://user:secret@127.0.0.1:${port}/db`],
        ['sessions', 'list', '--redis', redis.replace('secret', 'se#secret')],
        ['sessions', redis],
        ['sessions', 'export', redis, '-w', directory],
        [redis],
      ].map((args) => x(args)),
    );
    server.close();
    for (const { stdout, stderr } of ended) {
      expect(stdout).toBe('');
      expect(stderr).not.toBe('');
      expect(stderr).not.toContain('secret');
      expect(stderr).not.toContain('    at ');
    }
    expect(ended.map(({ status }) => status)).toEqual([1, 1, 2, 2, 2, 2]);
  }, 60_000);
});

it('says why Redis cannot be used', async () => {
  const url = new URL(inject('redisUrl'));
  url.username = 'nobody';
  url.password = 'secret';
  await expect(openStore({ workspace: '.', redis: url.href }, { readOnly: true })).rejects.toThrow(
    'WRONGPASS',
  );
  await expect(
    openStore({ workspace: '.', redis: 'redis://127.0.0.1:1' }, { readOnly: true }),
  ).rejects.toThrow('ECONNREFUSED');
});

it('waits only for a while for servers that accept a connection and never answer', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const openings = ['redis', 'mysql', 'postgres'].map((name) =>
    openStore({ workspace: '.', [name]: `${name}://127.0.0.1:${port}/db` }, { readOnly: true })
      .then(({ store }) => store.load(SessionKey.of('s')))
      .catch((error: unknown) => error),
  );
  for (const error of await Promise.all(openings))
    expect(error).toMatchObject({ code: 'session_unavailable' });
}, 120_000);

async function idsOf(log: WorkspaceSessionLog): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of log.read()) ids.push(id);
  return ids;
}

it('sessions are copied, exported and imported, and none is overwritten', async () => {
  const key = SessionKey.of({ userId: 'alice', agentId: 'agent', sessionId: 's' });
  const { store, close } = await openStore({ workspace: directory }, { readOnly: false, createTables: true });
  const session = await openSession(store, key);
  session.state.contextMutable().push(userMessage('Hello'));
  session.state.title = 'compacted away';
  await session.commit();
  const [copy, imported, file, elsewhere] = ['copy.db', 'imported.db', 's.jsonl', 'elsewhere'].map((name) =>
    join(directory, name),
  ) as [string, string, string, string];
  const logOf = (workspace: string) => new WorkspaceSessionLog(storageOf(new LocalWorkspace(workspace)), key);
  await logOf(directory).append([userMessage('compacted away'), ...session.state.context]);
  mkdirSync(elsewhere);
  expect(await inProcess(['copy', '-w', directory, '--to', copy])).toBe('Copied 1; 0 already existed.\n');
  expect(await inProcess(['copy', '-w', directory, '--to', copy])).toBe('Copied 0; 1 already existed.\n');
  writeFileSync(file, await inProcess(['export', 's', '-u', 'alice', '-w', directory]));
  const to = ['--sqlite', imported, '-w', elsewhere, '-u', 'alice'];
  for (const told of ['Imported s (alice / agent): 1 messages, ', 'nothing changed: s (alice / agent).'])
    expect(await inProcess(['import', file, ...to])).toContain(told);
  const [before, after] = await Promise.all([directory, elsewhere].map((at) => idsOf(logOf(at))));
  expect(after).toEqual(before);
  expect(after).toHaveLength(2);
  await logOf(directory).append([userMessage('later')]);
  writeFileSync(file, await inProcess(['export', 's', '-u', 'alice', '-w', directory]));
  await expect(inProcess(['import', file, ...to])).rejects.toThrow(
    'Session s  (alice / agent) already exists',
  );
  expect(await idsOf(logOf(elsewhere))).toEqual(after);
  await expect(inProcess(['copy', '-w', directory, '--to', imported])).rejects.toThrow('different sessions');
  for (const sqlite of [copy, imported]) {
    const opened = await openStore({ sqlite, workspace: directory }, { readOnly: true });
    expect((await openSession(opened.store, key)).state.toJSON()).toEqual(session.state.toJSON());
    await opened.close();
  }
  await inProcess(['copy', '-w', directory, '--to', copy, '--move']);
  expect(await store.load(key)).toBeUndefined();
  await close();
});

it('lists which process uses a session', async () => {
  const store = new JsonSession({ directory });
  const key = SessionKey.of({ agentId: 'coder', sessionId: 's' });
  const session = await openSession(store, key);
  session.state.contextMutable().push(userMessage('Hi'));
  await session.commit();
  const turn = await takeTurn(store, key);
  const inUse = `[in use by process ${process.pid} on `;
  expect(await inProcess(['list', '--directory', directory])).toContain(inUse);
  const line = JSON.parse(await inProcess(['list', '--directory', directory, '--json']));
  expect(line.heldBy).toMatchObject({ pid: process.pid, takenAt: expect.any(String) });
  await turn.release();
  expect(await inProcess(['list', '--directory', directory])).not.toContain('in use');
});

it('the sessions of a workspace are the user’s own: those that a folder brings count once they are taken over', async () => {
  const key = SessionKey.of({ agentId: 'coder', sessionId: 's' });
  const open = () => openStore({ workspace: directory }, { readOnly: false, createTables: true });
  const say = async (store: SessionStore, text: string) => {
    const session = await openSession(store, key);
    session.state.contextMutable().push(userMessage(text));
    await session.commit();
  };
  for (const bring of ['files', 'sqlite']) {
    const brought =
      bring === 'files'
        ? new WorkspaceSession(storageOf(new LocalWorkspace(directory)))
        : new SqliteSession({ file: join(directory, '.x/sessions.db') });
    await say(brought, 'Of a stranger');
    await brought.close();
    const own = await open();
    expect(await own.store.load(key)).toBeUndefined();
    await own.close();
    const copy = `x sessions copy --workspace ${directory}`;
    expect(await inProcess(['list', '-w', directory])).toBe(
      `No sessions. Sessions in ${join(directory, '.x')} are skipped, because anyone who can write to the workspace could have planted one. Import your own with ${copy}.\n`,
    );
    expect(await inProcess(['list', '-w', directory, '--json'])).toBe('');
    expect(await inProcess(['copy', '-w', directory])).toMatch(/^Copied 1/);
    const now = await open();
    await say(now.store, 'Mine');
    expect((await now.store.load(key))?.messages).toHaveLength(2);
    await now.close();
    expect(await inProcess(['list', '-w', directory])).toMatch(/^\w+ \w.* {2}v2 {2}s .*\n$/);
    rmSync(directory, { recursive: true });
    directory = mkdtempSync(join(tmpdir(), 'x-cli-stores-'));
  }

  // Looking at a workspace without sessions makes no file.
  const empty = join(directory, 'empty');
  mkdirSync(empty);
  expect(await inProcess(['list', '-w', empty])).not.toContain('v1');
  expect(readdirSync(empty)).toEqual([]);
  expect(existsSync(ownSessionsFile(empty))).toBe(false);
});

it('sessions lie where others of the machine do not read, by the real path of the workspace', async () => {
  const link = join(directory, 'link');
  symlinkSync('real', link);
  const before = ownSessionsFile(link);
  mkdirSync(join(directory, 'real'));
  expect(ownSessionsFile(link)).toBe(before);
  const loop = join(directory, 'loop');
  symlinkSync('loop', loop);
  expect(ownSessionsFile(loop)).not.toBe(before);
  expect(ownSessionsFile(link)).toBe(ownSessionsFile(join(directory, 'real')));
  const { close } = await openStore({ workspace: link }, { readOnly: false, createTables: true });
  const file = ownSessionsFile(link);
  expect(file.startsWith(join(process.env.HOME ?? '', '.x'))).toBe(true);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  await close();
});

/** What a command on sessions writes. */
async function inProcess(args: readonly string[]): Promise<string> {
  const output = new PassThrough();
  await sessions.run(args, { output, errors: output });
  output.end();
  return text(output);
}
