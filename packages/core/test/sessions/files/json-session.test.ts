import { mkdir, readdir, readFile, rename, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { deleteOlderThan, type SessionInfo, SessionKey, userMessage } from '../../../src/index.js';
import { digest } from '../../../src/internal.js';
import { JsonSession } from '../../../src/node.js';
import { operationId } from '../../../src/store.js';
import { printed, runChild } from '../../children/run-child.js';
import { commitAt } from '../../commit-at.js';
import { numbered } from '../../numbered.js';
import { takeLease } from '../../take-lease.js';
import { temporaryDirectory } from '../../temporary-directory.js';
import { thrownBy } from '../../thrown-by.js';

// Disks that are busy take their time.
vi.setConfig({ testTimeout: 300_000 });

const key = SessionKey.of({ tenantId: 'Acme', userId: 'u', agentId: 'a', sessionId: 's' });
const FILE = 'tenants/%41cme/users/u/agents/a/sessions/s.json';

async function setUp() {
  const directory = await temporaryDirectory();
  return { directory, file: join(directory, FILE), store: new JsonSession({ directory }) };
}

async function listed(store: JsonSession): Promise<SessionInfo[]> {
  const infos: SessionInfo[] = [];
  for await (const info of store.list()) infos.push(info);
  return infos;
}

describe('JsonSession', () => {
  test('deletes with a session what a writer that was killed left of it', async () => {
    const { store, file } = await setUp();
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [] });
    const names = ['s.json', 't.json'].map((name) => `.x-${digest(name).slice(0, 12)}${'0'.repeat(12)}.tmp`);
    for (const name of names) await writeFile(join(dirname(file), name), '{"messages":');
    await store.delete(key);
    // Another session may be written at this moment.
    expect(await readdir(dirname(file))).toEqual(names.slice(1));
  });

  test('keeps a session as one JSON document in the place of its key', async () => {
    const { store, directory, file } = await setUp();
    await commitAt(store, key, { expectedVersion: 0, head: { a: 1 }, keep: 0, append: numbered(2) });
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
      format: 1,
      key: { tenantId: 'Acme', userId: 'u', agentId: 'a', sessionId: 's' },
      version: 1,
      head: { a: 1 },
      messages: numbered(2),
    });
    expect(await readdir(directory, { recursive: true })).toEqual([
      '.locks',
      'tenants',
      'tenants/%41cme',
      'tenants/%41cme/users',
      'tenants/%41cme/users/u',
      'tenants/%41cme/users/u/agents',
      'tenants/%41cme/users/u/agents/a',
      'tenants/%41cme/users/u/agents/a/sessions',
      FILE,
    ]);
  });

  test('reads what a writer died over before it took its place, moves nothing, and deletes it too', async () => {
    const { store, directory, file } = await setUp();
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) });
    const before = await readFile(file, 'utf8');
    const { token = '' } = (await store.load(key)) ?? {};
    await commitAt(store, key, { expectedVersion: 1, head: {}, keep: 1, append: numbered(2) });
    await writeFile(file.replace('.json', `~${token}`), await readFile(file));
    await writeFile(file, before);

    const left = await readdir(directory, { recursive: true });
    expect(await store.load(key)).toMatchObject({ version: 2 });
    expect(await listed(store)).toMatchObject([{ version: 2 }]);
    expect(await readdir(directory, { recursive: true })).toEqual(left);
    expect(await readFile(file, 'utf8')).toBe(before);

    expect(await commitAt(store, key, { expectedVersion: 2, head: {}, keep: 3, append: numbered(1) })).toBe(
      3,
    );
    expect((await store.load(key))?.messages).toHaveLength(4);
    await writeFile(file.replace('.json', `~${(await store.load(key))?.token}`), before);
    await store.delete(key);
    expect(await store.load(key)).toBeUndefined();
    expect(await readdir(directory, { recursive: true })).toEqual(['.locks']);
  });

  test('sweeps what ended writers left of other sessions, and nothing that counts', async () => {
    const { store, directory, file } = await setUp();
    const of = (sessionId: string) => SessionKey.of({ ...key.parts, sessionId });
    for (const id of ['gone-on', 'damaged', 'next']) {
      await commitAt(store, of(id), { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) });
    }
    const at = (name: string) => join(file, '..', name);
    const first = await readFile(at('next.json'), 'utf8');
    const { token = '' } = (await store.load(of('next'))) ?? {};
    await commitAt(store, of('next'), { expectedVersion: 1, head: {}, keep: 1, append: numbered(2) });
    // Its writer ended between the creation of the successor and its move.
    await rename(at('next.json'), at(`next~${token}`));
    await writeFile(at('next.json'), first);
    for (const left of ['gone-on~AAAAAAAAAAAAAAAA', 'never~AAAAAAAAAAAAAAAA', 'damaged~AAAAAAAAAAAAAAAA']) {
      await writeFile(at(left), first);
    }
    await writeFile(at('damaged.json'), '{');
    const child = runChild('hold-lease', 'json', directory);
    await printed(child, 1);
    const living = await takeLease(store, of('living'));
    const held = await readdir(join(directory, 'users/u/sessions'));
    child.process.kill('SIGKILL');
    await child.ended;

    const another = new JsonSession({ directory });
    await commitAt(another, key, { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) });
    expect((await readdir(join(file, '..'))).toSorted()).toEqual([
      'damaged.json',
      'damaged~AAAAAAAAAAAAAAAA',
      'gone-on.json',
      'living.lease',
      'next.json',
      `next~${token}`,
      's.json',
    ]);
    expect(await store.load(of('next'))).toMatchObject({ version: 2 });
    expect(held).toEqual(['s.lease']);
    const ofChild = SessionKey.of({ userId: 'u', sessionId: 'other' });
    await commitAt(another, ofChild, { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) });
    expect(await readdir(join(directory, 'users/u/sessions'))).toEqual(['other.json']);
    await living?.release();
  });

  test('deletes without a trace, but not what belongs to others', async () => {
    const { store, directory } = await setUp();
    const other = SessionKey.of({ tenantId: 'Acme', sessionId: 's' });
    for (const each of [key, other]) {
      await commitAt(store, each, { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) });
    }
    await store.delete(key);
    expect(await readdir(directory, { recursive: true })).toHaveLength(5);
    await store.delete(other);
    expect(await readdir(directory, { recursive: true })).toEqual(['.locks']);
    expect(await store.delete(other)).toBe(false);
    expect(await readdir(directory, { recursive: true })).toEqual(['.locks']);
  });

  test('commits while others delete in the same directories', async () => {
    const { store } = await setUp();
    const keys = Array.from({ length: 8 }, (_, index) =>
      SessionKey.of({ userId: 'u', sessionId: `s${index}` }),
    );
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        keys.map(async (each) => {
          await commitAt(store, each, { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) });
          await store.delete(each);
        }),
      );
    }
    expect(await listed(store)).toEqual([]);
  });

  test.each([0, 1, 50, -1])('a file cut to %d bytes is reported, and left as it is', async (length) => {
    const { store, file } = await setUp();
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: numbered(3) });
    const size = length < 0 ? (await stat(file)).size + length : length;
    await truncate(file, size);
    const change = { expectedVersion: 'latest', head: {}, keep: 0, append: [] } as const;
    for (const operation of [() => store.load(key), () => commitAt(store, key, change)]) {
      const error = await thrownBy(operation());
      expect(error).toMatchObject({ code: 'session_corrupt', sessionKey: key.toString() });
      expect(error.message).toContain(file);
      expect(error.message).toContain('delete the session');
    }
    expect((await stat(file)).size).toBe(size);
    expect(await store.delete(key)).toBe(true);
    expect(await store.load(key)).toBeUndefined();
  });

  test.each([
    ['null', 'null'],
    ['no format', '{}'],
    ['no messages', JSON.stringify({ format: 1, key: key.parts, version: 1, updatedAt: '', head: {} })],
    [
      'another session',
      JSON.stringify({
        format: 1,
        key: { sessionId: 'x' },
        version: 1,
        operations: [''],
        createdAt: '',
        updatedAt: '',
        head: {},
        messages: [],
      }),
    ],
  ])('a file that holds %s is reported', async (_, text) => {
    const { store, file } = await setUp();
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, text);
    const error = await thrownBy(store.load(key));
    expect(error).toMatchObject({ name: 'SessionStoreError', code: 'session_corrupt' });
    expect(error.message).toContain(file);
  });

  test.each([
    [0, 'session_older'],
    [2, 'session_newer'],
  ])('a file of format %d is named as such', async (format, code) => {
    const { store, file } = await setUp();
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, JSON.stringify({ format }));
    expect(await thrownBy(store.load(key))).toMatchObject({ code });
    // It hides no other session, and stays.
    await commitAt(store, SessionKey.of('old'), { expectedVersion: 0, head: {}, keep: 0, append: [] });
    const deleting = deleteOlderThan(store, { olderThan: new Date(Date.now() + 60_000) });
    expect(await thrownBy(deleting)).toMatchObject({ code });
    expect(await store.load(SessionKey.of('old'))).toBeUndefined();
    expect(await readFile(file, 'utf8')).toBe(JSON.stringify({ format }));
  });

  test('a bad message becomes a placeholder, and fields of a later release stay', async () => {
    const { store, file } = await setUp();
    const bad = { id: 'a', content: [{ type: 'text', text: 'x' }] };
    const document = {
      format: 1,
      key: key.parts,
      version: 1,
      operations: [operationId()],
      createdAt: '',
      updatedAt: '',
      head: {},
      messages: [bad],
      color: 1,
    };
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, JSON.stringify(document));
    await commitAt(store, key, { expectedVersion: 'latest', head: {}, keep: 1, append: numbered(1) });
    const stored = await store.load(key);
    expect(stored?.messages.map(({ content }) => content[0])).toEqual([
      { type: 'opaque', provider: 'damaged', data: bad },
      numbered(1)[0]?.content[0],
    ]);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ color: 1 });
  });

  test('lists every session that can be read before it reports one that cannot', async () => {
    const { store, file } = await setUp();
    const others = ['x', 'y'].map((id) => SessionKey.of(id));
    for (const each of [...others, key]) {
      await commitAt(store, each, { expectedVersion: 0, head: {}, keep: 0, append: [] });
    }
    await truncate(file, 9);
    const found: string[] = [];
    const listing = (async () => {
      for await (const info of store.list()) found.push(info.key.parts.sessionId);
    })();
    const error = await thrownBy(listing);
    expect(error).toMatchObject({ code: 'session_corrupt' });
    expect(error.message).toContain(file);
    expect(found.sort()).toEqual(['x', 'y']);
  });

  test('lists the newest first', async () => {
    const { store, directory } = await setUp();
    for (const id of ['b', 'c', 'a']) {
      await commitAt(store, SessionKey.of(id), { expectedVersion: 0, head: {}, keep: 0, append: [] });
      const file = join(directory, `sessions/${id}.json`);
      const day = { b: 1, c: 3, a: 2 }[id];
      const text = (await readFile(file, 'utf8')).replace(
        /"updatedAt":"[^"]+"/,
        `"updatedAt":"2026-01-0${day}T00:00:00Z"`,
      );
      await writeFile(file, text);
    }
    expect((await listed(store)).map((info) => info.key.parts.sessionId)).toEqual(['c', 'a', 'b']);
  });

  test('passes over temporary files, and removes old ones', async () => {
    const { store, directory } = await setUp();
    await commitAt(store, SessionKey.of('s'), { expectedVersion: 0, head: {}, keep: 0, append: [] });
    const temporary = join(directory, `sessions/.x-${'0'.repeat(24)}.tmp`);
    await writeFile(temporary, '{"format":1');
    expect(await listed(store)).toHaveLength(1);
    expect(await readdir(join(directory, 'sessions'))).toHaveLength(2);
    await utimes(temporary, 1, 1);
    expect(await listed(store)).toHaveLength(1);
    expect(await readdir(join(directory, 'sessions'))).toEqual(['s.json']);
  });

  test('reports a directory that cannot be used, and never takes it for an empty one', async () => {
    const { directory } = await setUp();
    await writeFile(join(directory, 'file'), '');
    const store = new JsonSession({ directory: join(directory, 'file') });
    const operations = [
      () => store.load(key),
      () => commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [] }),
      () => store.delete(key),
      () => listed(store),
    ];
    for (const operation of operations) {
      expect(await thrownBy(operation())).toMatchObject({
        name: 'SessionStoreError',
        code: 'session_unavailable',
        message: expect.stringContaining(join(directory, 'file')),
        cause: expect.objectContaining({ name: 'WorkspaceError' }),
      });
    }
  });

  test('reports who holds up a commit for too long', async () => {
    const { directory } = await setUp();
    const store = new JsonSession({ directory, lockTimeoutMs: 0 });
    const change = {
      expectedVersion: 'latest',
      head: {},
      keep: 0,
      append: [userMessage('x'.repeat(1e6))],
    } as const;
    const results = await Promise.allSettled([commitAt(store, key, change), commitAt(store, key, change)]);
    // Which of them comes first is the file system's choice.
    results.sort((one, other) => one.status.localeCompare(other.status));
    expect(results).toMatchObject([
      { status: 'fulfilled', value: 1 },
      {
        status: 'rejected',
        reason: { code: 'session_unavailable', message: expect.stringContaining('.lock') },
      },
    ]);
  });

  test('refuses unknown options', () => {
    expect(() => new JsonSession({ directory: 'a', dir: 'b' } as never)).toThrowError('dir');
    expect(() => new JsonSession({ directory: '' })).toThrowError('directory');
  });
});
