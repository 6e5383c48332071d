import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  eraseUser,
  exportUser,
  InMemorySession,
  SessionKey,
  type SessionStore,
  storageOf,
  userMessage,
  type Workspace,
} from '@x/core';
import { JsonSession, LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { workspaceSuite } from '@x/testkit/suites';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RedisWorkspace, redisBackend } from '../../src/index.js';
import { withLogs } from '../../src/workspace/with-logs.js';
import { collect, messages, testClient, testStore } from '../support/test-store.js';

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'x-logs-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const PLACES: Readonly<Record<string, () => Workspace | SessionStore>> = {
  'another workspace': () => new LocalWorkspace(folder()),
  'another Redis': () => new RedisWorkspace({ client: testClient(), keyPrefix: testStore().keyPrefix }),
  'a session store': () => new InMemorySession(),
  'a session store of files': () => new JsonSession({ directory: folder() }),
};

const key = (sessionId: string, userId?: string) =>
  SessionKey.of({ agentId: 'a', sessionId, ...(userId === undefined ? {} : { userId }) });

describe.each(Object.keys(PLACES))('logs in %s', (name) => {
  const open = () => {
    const { client, keyPrefix } = testStore();
    const logs = (PLACES[name] as () => Workspace | SessionStore)();
    const backend = redisBackend({ client, keyPrefix, logs });
    return { client, keyPrefix, logs, ...backend, again: () => redisBackend({ client, keyPrefix, logs }) };
  };

  it('are read as they were written, by every machine, and Redis holds none of them', async () => {
    const { client, keyPrefix, workspace, again } = open();
    const written = messages(30);
    const log = new WorkspaceSessionLog(storageOf(workspace), key('s', 'Zoë'));
    await log.append(written.slice(0, 10));
    const other = new WorkspaceSessionLog(storageOf(again().workspace), key('s', 'Zoë'));
    await other.append(written.slice(10), [{ ids: ['call'], data: { n: 1 } }]);
    await log.append(written);
    for (const each of [log, other, new WorkspaceSessionLog(storageOf(workspace), key('s', 'Zoë'))]) {
      expect(await collect(each.read())).toEqual(written);
      expect(await each.get(written[17]?.id ?? '')).toEqual(written[17]);
      expect(await each.note('call')).toEqual({ ids: ['call'], data: { n: 1 } });
    }
    const keys = await client.keys(`${keyPrefix}*`);
    expect(keys.filter((each) => each.includes('log'))).toEqual([]);
  });

  it('of several writers at once lose nothing', async () => {
    const { again } = open();
    const logs = Array.from(
      { length: 4 },
      () => new WorkspaceSessionLog(storageOf(again().workspace), key('s')),
    );
    await Promise.all(
      logs.flatMap((log, writer) =>
        [0, 1].map((n) => log.append([userMessage(`${writer} ${n}`, { id: `w${writer}-${n}` })])),
      ),
    );
    const ids = (await collect(new WorkspaceSessionLog(storageOf(again().workspace), key('s')).read())).map(
      ({ id }) => id,
    );
    expect(ids.sort()).toEqual(logs.flatMap((_, writer) => [`w${writer}-0`, `w${writer}-1`]));
  });

  it('are listed with the other files, exported and erased with their user, and no one else’s', async () => {
    const { workspace, session } = open();
    const storage = storageOf(workspace);
    await storage.write('users/alice/MEMORY.md', 'likes tea');
    for (const user of ['alice', 'bob', undefined]) {
      for (const id of ['s1', 's2'])
        await new WorkspaceSessionLog(storage, key(id, user)).append(messages(2));
    }
    const all = async () => (await collect(storage.list('', { recursive: true }))).map(({ path }) => path);
    const paths = await all();
    expect(paths).toEqual([...paths].sort());
    expect(paths).toEqual(
      expect.arrayContaining(['users/alice/MEMORY.md', 'users/bob/agents/a/sessions/s2.log.jsonl']),
    );
    const [entry] = (await collect(storage.list('users/bob/agents/a/sessions'))).slice(-1);
    expect(entry).toMatchObject({ type: 'file', size: (await storage.read(entry?.path ?? '')).length });
    expect((await collect(storage.list('users'))).map(({ path }) => path)).toEqual([
      'users/alice',
      'users/bob',
    ]);
    expect(
      (await collect(exportUser({ session, storage }, { userId: 'alice' }))).map(
        (it) => it.type === 'file' && it.path,
      ),
    ).toEqual([
      'users/alice/MEMORY.md',
      'users/alice/agents/a/sessions/s1.log.jsonl',
      'users/alice/agents/a/sessions/s2.log.jsonl',
    ]);
    expect(await eraseUser({ session, storage }, { userId: 'alice' })).toMatchObject({ files: 3 });
    const left = (await all()).filter((path) => path.endsWith('.log.jsonl'));
    expect(left).toEqual([
      'agents/a/sessions/s1.log.jsonl',
      'agents/a/sessions/s2.log.jsonl',
      'users/bob/agents/a/sessions/s1.log.jsonl',
      'users/bob/agents/a/sessions/s2.log.jsonl',
    ]);
    expect((await all()).some((path) => path.startsWith('users/alice/agents'))).toBe(false);
  });

  it('keep bytes that are no text, and parts of them', async () => {
    const { workspace } = open();
    const path = `.x/agents/a/sessions/s.log.jsonl`;
    for (let n = 0; n < 40; n++) await workspace.append(path, new Uint8Array([n, 0xff, 10]));
    expect([...(await workspace.read(path, { offset: 113, length: 4 }))]).toEqual([10, 38, 0xff, 10]);
    expect([...(await workspace.read(path, { offset: 1, length: 3 }))]).toEqual([0xff, 10, 1]);
    expect([...(await workspace.read(path, { offset: 500 }))]).toEqual([]);
    await expect(workspace.write(path, 'x', { ifAbsent: true })).rejects.toMatchObject({
      code: 'already_exists',
    });
    await workspace.write(path, 'new');
    expect((await workspace.stat(path))?.size).toBe(3);
    expect([await workspace.delete(path), await workspace.delete(path)]).toEqual([true, false]);
    await expect(workspace.read(path)).rejects.toMatchObject({ code: 'not_found' });
  });
});

/** Opens workspaces whose logs are in one session store, which counts the pieces that are loaded. */
function counted() {
  const { client, keyPrefix } = testStore();
  const store = new InMemorySession();
  const records = store.collection('logs');
  const count = { loaded: 0 };
  const counting: SessionStore = Object.assign(Object.create(records), {
    load: async (...given: Parameters<SessionStore['load']>) => {
      const stored = await records.load(...given);
      count.loaded += stored?.messages.length ?? 0;
      return stored;
    },
    commit: records.commit.bind(records),
  });
  const logs = Object.assign(Object.create(store), { collection: () => counting });
  const open = () => redisBackend({ client, keyPrefix, logs }).workspace;
  return { open, count };
}

it('loads each piece of a log in a session store once when the log is read in chunks', async () => {
  const { open, count } = counted();
  const written = Array.from({ length: 12 }, (_, n) => userMessage(`${n} ${'x'.repeat(500_000)}`));
  const log = new WorkspaceSessionLog(storageOf(open()), key('s'));
  for (const message of written) await log.append([message]);
  count.loaded = 0;
  const cold = new WorkspaceSessionLog(storageOf(open()), key('s'));
  expect(await collect(cold.read())).toEqual(written);
  // Each read also loads the last piece, to test if the log has changed.
  expect(count.loaded).toBeLessThan(3 * written.length);
});

it('keeps only the next part of a log that was read in part, and reads on behind it', async () => {
  const { open, count } = counted();
  const path = '.x/agents/a/sessions/s.log.jsonl';
  const workspace = open();
  const pieces = Array.from({ length: 12 }, (_, n) => String.fromCharCode(97 + n).repeat(1_000_000));
  for (const piece of pieces) await workspace.append(path, piece);
  const whole = Buffer.from(pieces.join(''));
  const read = async (offset: number, length?: number) => {
    const bytes = await workspace.read(path, { offset, ...(length === undefined ? {} : { length }) });
    return whole.subarray(offset, length === undefined ? undefined : offset + length).equals(bytes);
  };
  expect(await read(0, 10)).toBe(true);
  count.loaded = 0;
  expect(await read(5_000_000, 10)).toBe(true);
  expect(count.loaded).toBe(1);
  await read(0, 10);
  count.loaded = 0;
  expect(await read(11_500_000, 10)).toBe(true);
  expect(count.loaded).toBeGreaterThan(1);
  await read(0, 10);
  expect(await read(10)).toBe(true);
});

it('reads a log that another process changes between two reads', async () => {
  const { client, keyPrefix } = testStore();
  const logs = new InMemorySession();
  const [reader, writer] = [0, 1].map(() => redisBackend({ client, keyPrefix, logs }).workspace) as [
    Workspace,
    Workspace,
  ];
  const path = '.x/agents/a/sessions/s.log.jsonl';
  const read = async (offset: number) =>
    Buffer.from(await reader.read(path, { offset, length: 2 })).toString();
  for (const part of ['ab', 'cd', 'ef']) await writer.append(path, part);
  expect(await read(0)).toBe('ab');
  await writer.append(path, 'gh');
  expect([await read(2), await read(4), await read(6), await read(8)]).toEqual(['cd', 'ef', 'gh', '']);
  expect([await read(1), await read(5)]).toEqual(['bc', 'fg']);
  await writer.write(path, 'ABCDEFGH');
  expect(await read(6)).toBe('GH');
  await read(0);
  await writer.delete(path);
  await expect(read(2)).rejects.toMatchObject({ code: 'not_found' });
});

it('refuses a place that cannot hold logs', () => {
  const { client, keyPrefix } = testStore();
  const store = Object.defineProperty(new InMemorySession(), 'collection', { value: undefined });
  for (const logs of [store, 'postgres://', {}]) {
    expect(() => redisBackend({ client, keyPrefix, logs: logs as never })).toThrow(
      expect.objectContaining({ issues: [expect.objectContaining({ path: 'logs' })] }),
    );
  }
});

workspaceSuite({
  name: 'RedisWorkspace with logs elsewhere',
  create: () =>
    withLogs(
      new RedisWorkspace({ client: testClient(), keyPrefix: testStore().keyPrefix }),
      new InMemorySession(),
    ),
});
