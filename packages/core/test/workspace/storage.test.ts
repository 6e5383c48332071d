import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { JsonSession } from '../../src/sessions/files/json-session.js';
import { SessionKey } from '../../src/sessions/session-key.js';
import { LocalWorkspace } from '../../src/workspace/local-workspace.js';
import { mountWorkspace } from '../../src/workspace/mount-workspace.js';
import { storageOf } from '../../src/workspace/storage.js';
import { readText } from '../../src/workspace/workspace.js';
import { temporaryDirectory } from '../temporary-directory.js';

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

test('what is mounted has the storage of its base', async () => {
  const [root, mounted] = [await temporaryDirectory(), await temporaryDirectory()];
  const base = new LocalWorkspace(root);
  const workspace = mountWorkspace(base, { repo: new LocalWorkspace(mounted, { readOnly: true }) });
  expect(storageOf(workspace)).toBe(storageOf(base));
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
