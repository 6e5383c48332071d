import { execFileSync } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  eraseSession,
  eraseUser,
  exportUser,
  InMemorySession,
  openSession,
  SessionKey,
  type SessionKeyParts,
  type SessionStore,
  SessionStoreError,
  storageOf,
  userMessage,
  type Workspace,
} from '../../src/index.js';
import { takeTurn } from '../../src/internal.js';
import { LocalWorkspace, WorkspaceSession } from '../../src/node.js';
import { wrapStore } from '../../src/store.js';
import { commitAt } from '../commit-at.js';
import { temporaryDirectory } from '../temporary-directory.js';

async function places(keys: readonly SessionKeyParts[], files: readonly string[]) {
  const session = new InMemorySession();
  for (const key of keys) {
    const opened = await openSession(session, SessionKey.of(key));
    opened.state.contextMutable().push(userMessage('Hi'));
    await opened.commit();
  }
  const storage = new LocalWorkspace(await temporaryDirectory());
  for (const file of files) await storage.write(file, 'private');
  return { session, storage };
}

async function filesOf(storage: Workspace): Promise<readonly string[]> {
  const files: string[] = [];
  for await (const { path, type } of storage.list('', { recursive: true }))
    if (type === 'file') files.push(path);
  return files;
}

const agentOf = { alice: { userId: 'alice' }, nobody: {} } as const;

it.each([
  ['of a user', 'alice', 'users/alice/'],
  ['of nobody', 'nobody', ''],
] as const)('deletes a session %s with all that is kept of it, and nothing else', async (_, owner, place) => {
  const agentId = 'coder';
  const own = { ...agentOf[owner], agentId, sessionId: 's-1' };
  const others = [
    { ...own, sessionId: 's-10' },
    { ...own, agentId: 'coder2' },
    { ...own, userId: 'bob' },
    { ...own, agentId: 'coder/helper', sessionId: 's-10/task' },
    { ...own, sessionId: 's-1/x' },
    { ...own, agentId: 'coder/helper', sessionId: 's-1/x/task' },
  ];
  const home = `${place}agents/coder`;
  const kept = [
    `${home}/MEMORY.md`,
    `${home}/sessions/s-10.log.jsonl`,
    `${place}agents/coder%2fhelper/sessions/s-10%2ftask.log.jsonl`,
    `${home}/sessions/s-1%2fx.log.jsonl`,
    `${place}agents/coder%2fhelper/sessions/s-1%2fx%2ftask.log.jsonl`,
    `results/large/${home}/s-1.md/0123.txt`,
    `plans/${home}/s-10.md`,
    `results/large/${home}/s-10/0123.txt`,
    `results/large/users/bob/agents/coder/s-1/0123.txt`,
  ];
  const gone = [
    `${home}/sessions/s-1.log.jsonl`,
    `${home}/sessions/s-1.events.jsonl`,
    `${home}/tasks/s-1/t-1.md`,
    `${place}agents/coder%2fhelper/sessions/s-1%2ftask.log.jsonl`,
    `plans/${home}/s-1.md`,
    `plans/${place}agents/coder%2fhelper/s-1%2ftask.md`,
    `results/large/${home}/s-1/0123.txt`,
  ];
  const child = { ...own, agentId: 'coder/helper', sessionId: 's-1/task' };
  const { session, storage } = await places([own, child, ...others], [...kept, ...gone]);

  expect(await eraseSession({ session, storage }, SessionKey.of(own))).toEqual({
    sessions: 2,
    files: gone.length,
  });
  expect(await filesOf(storage)).toEqual(kept.sort());
  for (const key of others) expect(await session.load(SessionKey.of(key))).toBeDefined();
  expect(await eraseSession({ session, storage }, SessionKey.of(own))).toEqual({ sessions: 0, files: 0 });
});

it('keeps a session in which a call runs, or one of a subagent, with its files', async () => {
  const own = { userId: 'alice', agentId: 'coder', sessionId: 's-1' };
  const child = { ...own, agentId: 'coder/helper', sessionId: 's-1/task' };
  const log = 'users/alice/agents/coder/sessions/s-1.log.jsonl';
  for (const running of [own, child]) {
    const { session, storage } = await places([own, child], [log]);
    const turn = await takeTurn(session, SessionKey.of(running));
    const erasure = () => eraseSession({ session, storage }, SessionKey.of(own));
    await expect(erasure()).rejects.toMatchObject({ code: 'lease_unavailable' });
    expect(await session.load(SessionKey.of(running))).toBeDefined();
    expect(await filesOf(storage)).toEqual([log]);
    await turn.release();
    expect(await erasure()).toEqual({ sessions: 1, files: 1 });
  }
});

it.each(['memory', 'sessions', 'tasks', 'context', 'plans', 'users', 'agents'])(
  'deletes a session that is named as a folder is, "%s", and not the folder',
  async (sessionId) => {
    const kept = [
      'memory/2026.md',
      'sessions/s.log.jsonl',
      'tasks/s/t.md',
      'context/s/head.json',
      'MEMORY.md',
    ];
    const homes = ['', 'agents/coder/', 'users/alice/agents/coder/'].flatMap((home) =>
      kept.map((file) => `${home}${file}`),
    );
    const files = [
      ...homes,
      'plans/agents/coder/s.md',
      'results/agents/coder/s/1.txt',
      'files/agents/coder/sessions/s/a',
    ];
    const { session, storage } = await places([], files);
    for (const owner of [{}, { agentId: 'coder' }, { agentId: 'coder', userId: 'alice' }])
      await eraseSession({ session, storage }, SessionKey.of({ ...owner, sessionId }));
    expect(await filesOf(storage)).toEqual(files.sort());
  },
);

it('erases what is kept of a user in folders within folders', async () => {
  const own = [
    'results/large/users/alice/agents/coder/s-1/0123.txt',
    'plans/users/alice/agents/coder/s-1.md',
  ];
  const other = 'results/large/users/bob/agents/coder/s-1/0123.txt';
  const { session, storage } = await places([{ userId: 'alice', sessionId: 's-1' }], [...own, other]);
  expect(await eraseUser({ session, storage }, { userId: 'alice' })).toEqual({
    sessions: 1,
    files: 2,
    busy: [],
  });
  expect(await filesOf(storage)).toEqual([other]);
});

/** A store in which sessions of these ids are damaged: they are listed, and cannot be read. */
function damagedStore(
  inner: SessionStore,
  ids: readonly string[],
  operations: readonly ('load' | 'delete')[],
) {
  return wrapStore(inner, (inner) => {
    const unlessDamaged =
      <Options, T>(task: (key: SessionKey, options?: Options) => Promise<T>) =>
      async (key: SessionKey, options?: Options) => {
        if (ids.includes(key.parts.sessionId))
          throw new SessionStoreError('session_corrupt', `${key} is damaged`);
        return task(key, options);
      };
    const damaged = {
      load: unlessDamaged(inner.load.bind(inner)),
      delete: unlessDamaged(inner.delete.bind(inner)),
    };
    return Object.fromEntries(operations.map((name) => [name, damaged[name]]));
  });
}

const SIX = [1, 2, 3, 4, 5, 6].map((n) => ({ userId: 'alice', sessionId: `s-${n}` }));

it('erases a session that cannot be read', async () => {
  const { session, storage } = await places(SIX, []);
  const store = damagedStore(session, ['s-2', 's-5'], ['load']);
  expect(await eraseUser({ session: store, storage }, { userId: 'alice' })).toMatchObject({ sessions: 6 });
});

it('erases all that can be deleted, and reports the rest at the end', async () => {
  const { session, storage } = await places(SIX, ['users/alice/agents/a/MEMORY.md']);
  const left = async () => {
    const ids: string[] = [];
    for await (const { key } of session.list()) ids.push(key.parts.sessionId);
    return ids.sort();
  };
  const two = damagedStore(session, ['s-2', 's-6'], ['delete']);
  await expect(eraseUser({ session: two, storage }, { userId: 'alice' })).rejects.toMatchObject({
    code: 'session_corrupt',
    message: expect.stringMatching(/s-\d is damaged\n.*s-\d is damaged$/),
  });
  expect(await left()).toEqual(['s-2', 's-6']);
  expect(await filesOf(storage)).toEqual([]);
  const one = damagedStore(session, ['s-6'], ['delete']);
  await expect(eraseUser({ session: one, storage }, { userId: 'alice' })).rejects.toMatchObject({
    message: '/alice//s-6 is damaged',
  });
  expect(await left()).toEqual(['s-6']);
});

it('erases what belongs to a session that cannot be deleted', async () => {
  const own = { userId: 'alice', agentId: 'coder', sessionId: 's' };
  const child = { ...own, agentId: 'coder/helper', sessionId: 's/1' };
  const { session, storage } = await places([own, child], ['users/alice/agents/coder/sessions/s.log.jsonl']);
  const damaged = damagedStore(session, ['s'], ['delete']);
  await expect(eraseSession({ session: damaged, storage }, SessionKey.of(own))).rejects.toMatchObject({
    code: 'session_corrupt',
  });
  expect(await session.load(SessionKey.of(child))).toBeUndefined();
  expect(await filesOf(storage)).toEqual([]);
});

it('exports and erases the files of a user where the storage lies elsewhere', async () => {
  const { session, storage } = await places([], ['users/alice/agents/a/MEMORY.md']);
  const workspace = new LocalWorkspace(await temporaryDirectory());
  for (const path of ['users/alice/notes.md', 'users/bob/notes.md'])
    await storageOf(workspace).write(`files/${path}`, 'private');
  const exported: string[] = [];
  for await (const record of exportUser({ session, storage, workspace }, { userId: 'alice' }))
    if (record.type === 'file') exported.push(record.path);
  expect(exported).toEqual(['users/alice/agents/a/MEMORY.md', 'files/users/alice/notes.md']);
  expect(await eraseUser({ session, storage, workspace }, { userId: 'alice' })).toMatchObject({ files: 2 });
  expect(await filesOf(storageOf(workspace))).toEqual(['files/users/bob/notes.md']);
});

it('exports the other files if a file is deleted during the export', async () => {
  const paths = ['a', 'b', 'c'].map((name) => `users/alice/${name}.md`);
  const { session, storage } = await places([], paths);
  const exported: string[] = [];
  for await (const record of exportUser({ session, storage }, { userId: 'alice' })) {
    if (record.type === 'file') exported.push(record.path);
    for (const path of paths.filter((path) => !exported.includes(path)).slice(1)) await storage.delete(path);
  }
  expect(exported).toHaveLength(2);
});

it('exports all that can be read of a user, and says what cannot', async () => {
  const { session, storage } = await places([], ['users/alice/a.md', 'users/alice/z/z.md']);
  await writeFile(join(storage.root, 'users/alice/b\\c.md'), 'private');
  const exported: string[] = [];
  const exporting = (async () => {
    for await (const record of exportUser({ session, storage }, { userId: 'alice' }))
      if (record.type === 'file') exported.push(record.path);
  })();
  await expect(exporting).rejects.toThrow(/^These could not be exported, everything else was:\n.*b\\\\c\.md/);
  expect(exported).toEqual(['users/alice/a.md', 'users/alice/z/z.md']);
});

it('exports all sessions and files beside a session that is damaged, and says which one it is', async () => {
  const { session, storage } = await places(SIX, ['users/alice/a.md']);
  const store = damagedStore(session, ['s-2'], ['load']);
  const exported: string[] = [];
  const exporting = (async () => {
    for await (const record of exportUser({ session: store, storage }, { userId: 'alice' }))
      exported.push(record.type === 'file' ? record.path : record.key.sessionId);
  })();
  await expect(exporting).rejects.toMatchObject({
    code: 'session_corrupt',
    message: expect.stringContaining('s-2 is damaged'),
  });
  expect(exported.sort()).toEqual(['s-1', 's-3', 's-4', 's-5', 's-6', 'users/alice/a.md']);
});

it('erases folders that lie deeper than a path may be long', async () => {
  const { session, storage } = await places([], ['users/alice/a.md']);
  const deep = 'd'.repeat(200);
  // Step by step: no path is that long.
  const script = `cd "$1"; i=0; while [ $i -lt 30 ]; do mkdir ${deep}; cd ${deep}; i=$((i+1)); done; echo private > secret.md`;
  execFileSync('bash', ['-c', script, 'bash', join(storage.root, 'users/alice')]);
  await eraseUser({ session, storage }, { userId: 'alice' });
  expect(await readdir(storage.root)).toEqual(['users']);
  expect(await readdir(join(storage.root, 'users'))).toEqual([]);
});

it('leaves a session that runs in another process, though its store lies among the files that are erased', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  const [here, there] = [new WorkspaceSession(workspace), new WorkspaceSession(workspace)];
  const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
  const change = { expectedVersion: 0, head: {}, keep: 0, append: [] };
  await commitAt(there, key, change);
  await workspace.write('users/alice/sessions/s-1.log.jsonl', 'a line');
  const turn = await takeTurn(there, key);
  const erase = () => eraseUser({ session: here, storage: workspace }, { userId: 'alice' });
  expect(await erase()).toMatchObject({ sessions: 0, files: 0, busy: [{ key }] });
  expect(await commitAt(there, key, { ...change, expectedVersion: 1, fence: turn.fence })).toBe(2);
  await turn.release();
  expect(await erase()).toMatchObject({ sessions: 1, busy: [] });
  expect(await workspace.stat('users/alice')).toBeUndefined();
});
