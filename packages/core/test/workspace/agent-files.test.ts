import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sessionPrefix } from '../../src/sessions/files/session-files.js';
import { SessionKey, type SessionKeyParts } from '../../src/sessions/session-key.js';
import { agentFiles, type Isolation } from '../../src/workspace/agent-files.js';
import { LocalWorkspace } from '../../src/workspace/local-workspace.js';
import { mountWorkspace } from '../../src/workspace/mount-workspace.js';
import { storageOf } from '../../src/workspace/storage.js';
import { readText, type Workspace } from '../../src/workspace/workspace.js';
import { temporaryDirectory } from '../temporary-directory.js';

/** The same files through what has neither links nor subtrees. */
function plain(workspace: LocalWorkspace): Workspace {
  const { reach } = workspace;
  const of = <K extends 'read' | 'write' | 'append' | 'list' | 'stat' | 'delete'>(name: K) =>
    workspace[name].bind(workspace) as Workspace[K];
  return {
    reach,
    read: of('read'),
    write: of('write'),
    append: of('append'),
    list: of('list'),
    stat: of('stat'),
    delete: of('delete'),
  };
}

const kinds = ['local', 'mounted', 'plain'] as const;

async function open(kind: (typeof kinds)[number] = 'local') {
  const root = await temporaryDirectory();
  const local = new LocalWorkspace(root);
  const workspace =
    kind === 'plain' ? plain(local) : kind === 'mounted' ? mountWorkspace(local, { repo: local }) : local;
  const storage = storageOf(workspace);
  const files = (parts: SessionKeyParts, isolation: Isolation = 'user') =>
    agentFiles(SessionKey.of({ agentId: 'coder', ...parts }), { workspace, storage, isolation });
  return { root, workspace, storage, files };
}

const alice = { userId: 'alice', sessionId: 's1' };
const bob = { userId: 'bob', sessionId: 's1' };
const nobody = { sessionId: 's1' };

async function listed(files: Workspace): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of files.list('', { recursive: true })) paths.push(path);
  return paths;
}

test.each(kinds)('users have trees of their own, and who has none works at the root (%s)', async (kind) => {
  const { files } = await open(kind);
  await files(alice).write('a.txt', 'of alice');
  await files(nobody).write('a.txt', 'of nobody');
  expect(await readText(files({ ...alice, sessionId: 's2' }), '/a.txt')).toBe('of alice');
  expect(await readText(files({ sessionId: 's2' }), 'a.txt')).toBe('of nobody');
  await expect(files(bob).read('a.txt')).rejects.toMatchObject({ code: 'not_found' });
  await expect(files({ ...alice, tenantId: 'acme' }).read('a.txt')).rejects.toMatchObject({
    code: 'not_found',
  });
  for (const path of [
    '../alice/a.txt',
    '.x/files/users/alice/a.txt',
    './.X/files/users/alice/a.txt',
    '/.x/layout.json',
  ]) {
    for (const who of [bob, nobody]) {
      await expect(files(who).read(path)).rejects.toMatchObject({ code: 'outside_workspace' });
      await expect(files(who).write(path, '')).rejects.toMatchObject({ code: 'outside_workspace' });
      await expect(files(who).delete(path)).rejects.toMatchObject({ code: 'outside_workspace' });
    }
  }
  expect((await listed(files(nobody))).filter((path) => !path.startsWith('repo'))).toEqual(['a.txt']);
  expect((await listed(files(alice))).filter((path) => !path.startsWith('repo'))).toEqual(['a.txt']);
  if (kind !== 'mounted') return;
  // A mount is common to all, but for what a harness keeps in it.
  expect(await readText(files(alice), 'repo/a.txt')).toBe('of nobody');
  await expect(files(alice).read('repo/.x/layout.json')).rejects.toMatchObject({ code: 'outside_workspace' });
  expect(await listed(files(alice))).toEqual(['a.txt', 'repo', 'repo/a.txt']);
});

test('isolation says who have their files in common', async () => {
  const { files } = await open();
  const others: Readonly<Record<Isolation, readonly SessionKeyParts[]>> = {
    user: [
      { ...alice, sessionId: 's2' },
      { ...alice, agentId: 'other' },
    ],
    session: [alice],
    agent: [bob, nobody, { ...alice, sessionId: 's2' }],
    shared: [
      bob,
      nobody,
      { ...alice, tenantId: 'acme' },
      { ...alice, agentId: 'other' },
      { ...alice, sessionId: 's2' },
    ],
  };
  for (const [isolation, same] of Object.entries(others) as [Isolation, readonly SessionKeyParts[]][]) {
    await files(alice, isolation).write('a.txt', isolation);
    for (const parts of [...Object.values(others).flat(), bob]) {
      const seen = await readText(files(parts, isolation), 'a.txt').catch(() => undefined);
      expect(seen === isolation, `${isolation} ${JSON.stringify(parts)}`).toBe(
        [...same, alice].some((one) =>
          SessionKey.of({ agentId: 'coder', ...one }).equals(SessionKey.of({ agentId: 'coder', ...parts })),
        ),
      );
    }
  }
});

/** What a session has in the storage. */
function keptOf(parts: SessionKeyParts): Readonly<Record<string, string>> {
  const key = SessionKey.of({ agentId: 'coder', ...parts });
  const [prefix, session] = [sessionPrefix(key), key.path.sessionId];
  return {
    eviction: `large_tool_results/${prefix}${session}/${'0'.repeat(32)}.txt`,
    plan: `plans/${prefix}${session}.md`,
    log: `${prefix}sessions/${session}.log.jsonl`,
    result: `${prefix}tasks/${session}/task-1.md`,
    core: `${prefix}MEMORY.md`,
    note: `${prefix}memory/2026-01-31.md`,
    state: `${prefix}memory/.state.json`,
    context: `${prefix}context/${session}/head.json`,
  };
}

test('what is kept for a user or a session is read at its path, by nobody else, and never changed', async () => {
  const { files, storage } = await open();
  const child = { agentId: 'coder/explorer', sessionId: 's1/explorer-1' };
  const keys: Readonly<Record<string, SessionKeyParts>> = {
    alice,
    later: { ...alice, sessionId: 's2' },
    otherAgent: { ...alice, agentId: 'other' },
    bob,
    tenant: { ...alice, tenantId: 'acme' },
    nobody,
    alike: { sessionId: 's1.md' },
    nested: { sessionId: 's1/explorer-1' },
    child,
    childOfNested: { agentId: 'coder/explorer', sessionId: 's1/explorer-1/x-1' },
    nobodyOfTenant: { ...nobody, tenantId: 'acme' },
  };
  const session = ['eviction', 'plan', 'log', 'result'];
  const user = [...session, 'core', 'note'];
  const may: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
    alice: { alice: user, later: user, otherAgent: user },
    nobody: { nobody: session, child: session },
    alike: { alike: session },
    nested: { nested: session, childOfNested: session },
    nobodyOfTenant: { nobodyOfTenant: session },
  };
  for (const parts of Object.values(keys)) {
    for (const path of Object.values(keptOf(parts))) await storage.write(path, path);
  }
  for (const [who, readable] of Object.entries(may)) {
    const own = files(keys[who] ?? alice);
    for (const [whose, parts] of Object.entries(keys)) {
      for (const [kind, path] of Object.entries(keptOf(parts))) {
        const text = await readText(own, path).catch(() => undefined);
        const isReadable = readable[whose]?.includes(kind) ?? false;
        expect(text, `${who} reads ${kind} of ${whose}: ${path}`).toBe(isReadable ? path : undefined);
        if (isReadable) await expect(own.write(path, '')).rejects.toMatchObject({ code: 'read_only' });
      }
    }
    expect(await listed(own)).toEqual([]);
  }
});

test('of a session that is named as a file of another is, folders are not listed either', async () => {
  const { files, storage } = await open();
  const names = ['s1.md', 's1.log.jsonl'];
  for (const sessionId of names)
    for (const path of Object.values(keptOf({ sessionId }))) await storage.write(path, path);
  const places = ['large_tool_results/agents/coder', 'agents/coder/tasks'];
  for (const sessionId of names) {
    for (const place of places) {
      const folder = `${place}/${SessionKey.of({ sessionId }).path.sessionId}`;
      const paths = async (parts: SessionKeyParts) => {
        const found: string[] = [];
        for await (const { path } of files(parts).list(folder, { recursive: true })) found.push(path);
        return found;
      };
      expect(await paths({ sessionId }), folder).toHaveLength(1);
      expect(await paths(nobody), folder).toEqual([]);
      expect(await files(nobody).stat(folder), folder).toBeUndefined();
    }
  }
});

test('a path that only looks kept is a file like any other', async () => {
  const { files } = await open();
  await files(alice).write('reports/users/alice/agents/coder/s1/a.txt', 'mine');
  expect(await listed(files(alice))).toContain('reports/users/alice/agents/coder/s1/a.txt');
});

test('a tree of a user is confined by real paths', async () => {
  const { root, files } = await open();
  await writeFile(join(root, 'root.txt'), 'canary');
  const { symlink } = await import('node:fs/promises');
  await files(alice).write('a.txt', '');
  await symlink(join(root, 'root.txt'), join(root, '.x/files/users/alice/link'));
  await expect(files(alice).read('link')).rejects.toMatchObject({ code: 'outside_workspace' });
});

test('a session reads the tree of no other by its place in the storage', async () => {
  const { files } = await open();
  await files({ sessionId: 'one' }, 'session').write('secret', 'canary');
  await files({ userId: 'bob', sessionId: 'one' }, 'session').write('secret', 'canary');
  for (const [parts, path] of [
    [{ sessionId: 'sessions' }, 'files/agents/coder/sessions/one/secret'],
    [{ sessionId: 'sessions' }, './FILES/agents/coder/sessions/one/secret'],
    [{ userId: 'bob', sessionId: 'two' }, 'files/users/bob/agents/coder/sessions/one/secret'],
  ] as const) {
    await expect(files(parts, 'session').read(path), path).rejects.toMatchObject({ code: 'not_found' });
    expect(await files(parts, 'session').stat(path), path).toBeUndefined();
  }
});
