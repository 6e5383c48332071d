import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { JsonSession } from '../../src/sessions/files/json-session.js';
import { SessionKey } from '../../src/sessions/session-key.js';
import { LocalWorkspace } from '../../src/workspace/local-workspace.js';
import { mountWorkspace } from '../../src/workspace/mount-workspace.js';
import { migrateLayout, storageOf } from '../../src/workspace/storage.js';
import { readText, type Workspace } from '../../src/workspace/workspace.js';
import { temporaryDirectory } from '../temporary-directory.js';

const EVICTED = `${'0f'.repeat(16)}.txt`;
/** What an earlier release kept among the agent's files. */
const OLD = {
  'users/alice/agents/coder/context/s1/head.json': '{}',
  'users/alice/agents/coder/context/s1/segment-1.jsonl': 'a\n',
  'users/alice/agents/coder/sessions/s1.log.jsonl': 'b\n',
  'users/alice/agents/coder/sessions/s1.events.jsonl': 'c\n',
  'users/alice/agents/coder/tasks/s1.json': '{"version":1,"tasks":[]}',
  'users/alice/agents/coder/tasks/s1/task-1.md': 'd',
  'users/alice/agents/coder/MEMORY.md': '- e\n',
  'users/alice/agents/coder/memory/2026-01-31.md': '- f\n',
  'tenants/acme/agents/coder/sessions/s2.log.jsonl': 'g\n',
  'context/s3/head.json': '{}',
  [`large_tool_results/users/alice/agents/coder/s1/${EVICTED}`]: 'h',
  'plans/agents/coder/s4.md': 'i',
};
/** What belongs to the agent, or to its checkout. */
const OTHERS = {
  'README.md': 'r',
  'users/schema.sql': 's',
  'users/bob/notes.md': 't',
  'agents/planner/MEMORY.md': 'u',
  'agents/planner/tasks/todo.json': 'v',
  'sessions/talk.md': 'w',
  'context/theme.tsx': 'x',
  'memory/palace.md': 'y',
  'plans/2027.md': 'z',
  'docs/agents/coder/deep.md': '0',
};

async function write(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

async function filesOf(root: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(root.length + 1);
    if (entry.isFile()) found[path] = await readFile(join(root, path), 'utf8');
  }
  return found;
}

const below = (files: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [`.x/${path}`, text]));
const MOVED = { ...below(OLD), ...OTHERS };

test('a storage is a directory of its own, and its own storage', async () => {
  const root = await temporaryDirectory();
  const storage = storageOf(new LocalWorkspace(root));
  expect(await storage.stat('users')).toBeUndefined();
  expect(await readdir(root)).toEqual([]);
  await storage.write('users/alice/a.txt', 'hello');
  expect(await readFile(join(root, '.x/users/alice/a.txt'), 'utf8')).toBe('hello');
  expect(storageOf(storage)).toBe(storage);
  await expect(storage.read('../README.md')).rejects.toMatchObject({ code: 'outside_workspace' });
  const paths: string[] = [];
  for await (const { path } of storage.list('users', { recursive: true })) paths.push(path);
  expect(paths).toEqual(['users/alice', 'users/alice/a.txt']);
});

test("an older layout is moved when asked for, and nothing of the agent's", async () => {
  const root = await temporaryDirectory();
  await write(root, { ...OLD, ...OTHERS });
  const workspace = new LocalWorkspace(root);
  expect((await migrateLayout(workspace)).toSorted()).toEqual(Object.keys(OLD).toSorted());
  expect(await storageOf(workspace).stat('users/alice/agents/coder/MEMORY.md')).toMatchObject({ size: 4 });
  expect(await filesOf(root)).toEqual(MOVED);
  expect(await readdir(root)).not.toContain('large_tool_results');
  expect(await migrateLayout(workspace)).toEqual([]);
});

test('files that look like those of an older release are never taken for the storage by its use', async () => {
  const root = await temporaryDirectory();
  await write(root, { ...OLD, ...OTHERS });
  for (let process = 1; process <= 2; process++) {
    const storage = storageOf(new LocalWorkspace(root));
    expect(await storage.stat('users/alice/agents/coder/MEMORY.md')).toBeUndefined();
    await storage.write('mine', 'm');
  }
  expect(await filesOf(root)).toEqual({ ...OLD, ...OTHERS, '.x/mine': 'm' });
});

test('a move replaces no file of the storage, and loses none', async () => {
  const root = await temporaryDirectory();
  const path = 'users/alice/agents/coder/sessions/s1.log.jsonl';
  await write(root, { [path]: 'forged', [`.x/${path}`]: 'kept' });
  await expect(migrateLayout(new LocalWorkspace(root))).rejects.toMatchObject({ code: 'already_exists' });
  expect(await filesOf(root)).toEqual({ [path]: 'forged', [`.x/${path}`]: 'kept' });
});

/** The workspace until its `dies`th change, with which the process ends. */
function mortal(workspace: Workspace, dies: number): Workspace {
  let changes = 0;
  const live = async <T>(operation: () => Promise<T>): Promise<T> => {
    if (++changes >= dies) throw new Error('died');
    return operation();
  };
  return {
    reach: workspace.reach,
    read: (path) => workspace.read(path),
    stat: (path) => workspace.stat(path),
    list: (path, options) => workspace.list(path, options),
    append: (path, data) => live(() => workspace.append(path, data)),
    write: (path, data, options) => live(() => workspace.write(path, data, options)),
    delete: (path) => live(() => workspace.delete(path)),
  };
}

test('a move that dies at any change is completed by the next', async () => {
  for (let dies = 1, died = true; died; dies++) {
    const root = await temporaryDirectory();
    await write(root, { ...OLD, ...OTHERS });
    died = await migrateLayout(mortal(new LocalWorkspace(root), dies)).then(
      () => false,
      () => true,
    );
    await migrateLayout(mortal(new LocalWorkspace(root), Number.POSITIVE_INFINITY));
    expect(await filesOf(root)).toEqual(MOVED);
  }
});

test('what is mounted has the storage of its base', async () => {
  const [root, mounted] = [await temporaryDirectory(), await temporaryDirectory()];
  const base = new LocalWorkspace(root);
  const workspace = mountWorkspace(base, { repo: new LocalWorkspace(mounted, { readOnly: true }) });
  expect(storageOf(workspace)).toBe(storageOf(base));
});

test('two processes move at once', async () => {
  const root = await temporaryDirectory();
  await write(root, { ...OLD, ...OTHERS });
  await Promise.all([1, 2, 3].map(() => migrateLayout(new LocalWorkspace(root))));
  expect(await filesOf(root)).toEqual(MOVED);
});

test('names that are kept back are reached by no path, case or link', async () => {
  const root = await temporaryDirectory();
  await write(root, {
    '.x/secret': 'canary',
    'sub/.x/secret': 'canary',
    '.env.local': 'canary',
    'a.txt': 'a',
  });
  for (const [target, name] of [
    ['.x', 'dir'],
    ['.x/secret', 'file'],
    ['.env.local', 'env'],
  ] as const) {
    await symlink(join(root, target), join(root, name));
  }
  const tree = new LocalWorkspace(root, { hidden: ['.env*'] }).subtree('');
  const paths: string[] = [];
  for await (const { path } of tree.list('', { recursive: true })) paths.push(path);
  expect(paths).toEqual(['a.txt', 'sub']);
  for (const path of [
    '.x/secret',
    '.X/secret',
    'dir/secret',
    'file',
    'sub/.x/secret',
    '.env.local',
    '.ENV.local',
    'env',
  ]) {
    await expect(tree.read(path), path).rejects.toMatchObject({ code: 'outside_workspace' });
    await expect(tree.write(path, ''), path).rejects.toMatchObject({ code: 'outside_workspace' });
    await expect(tree.replace('a.txt', path, ''), path).rejects.toMatchObject({ code: 'outside_workspace' });
  }
  await expect(tree.delete('.x')).rejects.toMatchObject({ code: 'outside_workspace' });
});

describe('what agents keep, behind a symbolic link', () => {
  const key = SessionKey.of({ sessionId: 's' });
  const refused = {
    code: 'outside_workspace',
    message: expect.stringMatching(/is a symbolic link to .*\.storage\(/),
  };

  /** A folder with a file of the storage, one of its tools, and a link that leads from one to the other. */
  async function linked(link: string, target: string) {
    const root = await temporaryDirectory();
    await write(root, { 'data/users/bob/a.txt': 'canary', '.y/users/bob/a.txt': 'canary' });
    await mkdir(dirname(join(root, link)), { recursive: true });
    await symlink(target, join(root, link));
    return root;
  }

  test.each([
    ['.x', 'data'],
    ['.x', 'not-yet'],
    ['.x', '.y'],
    ['.x', '/'],
    ['.x/users', '../data/users'],
    ['.x/users/alice', 'bob'],
    ['.x/users/alice/a.txt', '../../../data/users/bob/a.txt'],
    ['.x/users/alice/a.txt', 'not-yet'],
  ])('is neither read nor written: %s to %s', async (link, target) => {
    const root = await linked(link, target);
    const before = await filesOf(root);
    const storage = storageOf(new LocalWorkspace(root));
    const path = 'users/alice/a.txt';
    for (const attempt of [
      () => storage.read(path),
      () => storage.write(path, ''),
      () => storage.append(path, ''),
      () => storage.stat(path),
    ])
      await expect(attempt()).rejects.toMatchObject(refused);
    expect(await filesOf(root)).toEqual(before);
    expect(await readdir(root)).not.toContain('not-yet');
  });

  test('is in no listing, and is deleted as a link', async () => {
    const root = await linked('.x/users/alice', '../../data/users/bob');
    const storage = storageOf(new LocalWorkspace(root));
    const paths: string[] = [];
    for await (const { path } of storage.list('', { recursive: true })) paths.push(path);
    expect(paths).toEqual(['users']);
    expect(await storage.delete('users/alice')).toBe(true);
    await storage.write('users/alice/a.txt', 'of alice');
    expect(await readFile(join(root, 'data/users/bob/a.txt'), 'utf8')).toBe('canary');
  });

  test('is refused also where the link comes later', async () => {
    const root = await linked('other', 'data');
    const workspace = new LocalWorkspace(root);
    const tree = workspace.subtree('.x/files/users/alice');
    const sessions = new JsonSession({ directory: join(root, '.x/sessions') });
    await storageOf(workspace).write('a.txt', '');
    await tree.write('a.txt', '');
    await sessions.load(key);
    await rename(join(root, '.x'), join(root, 'moved'));
    await symlink('data', join(root, '.x'));
    await expect(storageOf(workspace).write('a.txt', '')).rejects.toMatchObject(refused);
    await expect(tree.write('a.txt', '')).rejects.toMatchObject({ code: 'outside_workspace' });
    await expect(sessions.load(key)).rejects.toMatchObject({ code: 'session_unavailable' });
    expect(await readdir(join(root, 'data'))).toEqual(['users']);
  });

  test('holds no sessions of a store that is rooted there', async () => {
    const root = await linked('.x', 'data');
    const store = new JsonSession({ directory: join(root, '.x/sessions') });
    await expect(store.load(key)).rejects.toMatchObject({ message: refused.message });
    expect(() => new LocalWorkspace(join(root, '.x/sessions')).check()).toThrow(/is a symbolic link to/);
    expect(await readdir(join(root, 'data'))).toEqual(['users']);
  });

  test('is reached where only the way to the workspace is one', async () => {
    const root = await linked('.x/link', '/');
    const parent = await temporaryDirectory();
    await symlink(root, join(parent, 'workspace'));
    const storage = storageOf(new LocalWorkspace(join(parent, 'workspace')));
    await storage.write('a.txt', 'kept');
    expect(await readFile(join(root, '.x/a.txt'), 'utf8')).toBe('kept');
  });
});

test.each(['/', 'bob', '../../../outside', 'not-yet'])(
  'a tree is no link, such as one to %s',
  async (target) => {
    const root = await temporaryDirectory();
    await write(root, { '.x/files/users/bob/mail.txt': 'canary', 'outside/a.txt': 'canary' });
    await symlink(target, join(root, '.x/files/users/alice'));
    await symlink(target, join(root, 'link'));
    const before = await filesOf(root);
    const workspace = new LocalWorkspace(root);
    for (const tree of [
      workspace.subtree('.x/files/users/alice'),
      workspace.subtree('.x/files/users/alice/sub'),
    ]) {
      await expect(tree.write('planted', '')).rejects.toMatchObject({ code: 'outside_workspace' });
      await expect(tree.list('').next()).rejects.toMatchObject({ code: 'outside_workspace' });
    }
    expect(await filesOf(root)).toEqual(before);
  },
);

test('a tree outside of the storage may be a link that stays in the workspace, and no other', async () => {
  const [root, outside] = [await temporaryDirectory(), await temporaryDirectory()];
  await write(root, { 'sub/a.txt': 'a' });
  await symlink('sub', join(root, 'in'));
  await symlink(outside, join(root, 'out'));
  const workspace = new LocalWorkspace(root);
  expect(await readText(workspace.subtree('in'), 'a.txt')).toBe('a');
  await expect(workspace.subtree('out').write('planted', '')).rejects.toMatchObject({
    code: 'outside_workspace',
  });
  expect(await readdir(outside)).toEqual([]);
});
