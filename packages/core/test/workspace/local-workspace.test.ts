import { spawnSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { readText, type Workspace } from '../../src/index.js';
import { LocalWorkspace } from '../../src/node.js';
import type { WorkspaceEntry } from '../../src/store.js';
import { temporaryDirectory } from '../temporary-directory.js';
import { thrownBy } from '../thrown-by.js';

// Disks that are busy take their time.
vi.setConfig({ testTimeout: 300_000 });

async function setUp() {
  const directory = await temporaryDirectory();
  const root = join(directory, 'root');
  const outside = join(directory, 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'secret'), 'secret');
  return { directory, root, outside, workspace: new LocalWorkspace(root) };
}

async function listed(workspace: Workspace, path?: string, recursive = true): Promise<WorkspaceEntry[]> {
  const entries: WorkspaceEntry[] = [];
  for await (const entry of workspace.list(path, { recursive })) entries.push(entry);
  return entries;
}

async function paths(workspace: Workspace, path?: string, recursive = true): Promise<string[]> {
  return (await listed(workspace, path, recursive)).map((entry) => entry.path);
}

describe('files', () => {
  test('of gigabytes are refused where they are asked for whole, and read in parts', async () => {
    const directory = await temporaryDirectory();
    const workspace = new LocalWorkspace(directory);
    await writeFile(join(directory, 'big'), '');
    await truncate(join(directory, 'big'), 2 ** 31 + 5);
    await expect(workspace.read('big')).rejects.toThrow('2147483653 bytes are more than can be read at once');
    expect(await workspace.read('big', { offset: 2 ** 31, length: 2 ** 30 })).toHaveLength(5);
  });

  test('are written, read, listed and deleted, with the directories above them', async () => {
    const { workspace, root } = await setUp();
    await workspace.write('a/b/c.txt', 'héllo');
    expect(await readText(workspace, '/a/b/c.txt')).toBe('héllo');
    expect(await readFile(join(root, 'a/b/c.txt'), 'utf8')).toBe('héllo');
    expect(await workspace.stat('a/b/c.txt')).toMatchObject({ path: 'a/b/c.txt', type: 'file', size: 6 });
    expect(await workspace.stat('a/b')).toMatchObject({ path: 'a/b', type: 'directory', size: 0 });
    expect(await paths(workspace)).toEqual(['a', 'a/b', 'a/b/c.txt']);
    expect(await workspace.delete('a/b/c.txt')).toBe(true);
    expect(await workspace.delete('a/b/c.txt')).toBe(false);
    expect(await workspace.delete('a')).toBe(true);
    expect(await readdir(root)).toEqual([]);
  });

  test('are replaced whole, and keep their permissions', async () => {
    const { workspace, root } = await setUp();
    await workspace.write('run.sh', 'a longer text');
    await chmod(join(root, 'run.sh'), 0o750);
    await workspace.write('run.sh', 'short');
    expect(await readText(workspace, 'run.sh')).toBe('short');
    expect((await stat(join(root, 'run.sh'))).mode & 0o777).toBe(0o750);
    expect(await readdir(root)).toEqual(['run.sh']);
  });

  test('hold any bytes', async () => {
    const { workspace } = await setUp();
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    await workspace.write('bytes', bytes);
    await workspace.append('bytes', bytes);
    expect([...(await workspace.read('bytes'))]).toEqual([...bytes, ...bytes]);
  });

  test('are left alone by a write with ifAbsent', async () => {
    const { workspace, root } = await setUp();
    await workspace.write('a', 'first', { ifAbsent: true });
    expect(await thrownBy(workspace.write('a', 'second', { ifAbsent: true }))).toMatchObject({
      code: 'already_exists',
      path: 'a',
    });
    expect(await readText(workspace, 'a')).toBe('first');
    expect(await readdir(root)).toEqual(['a']);
  });

  test('that several write with ifAbsent belong to exactly one', async () => {
    const { workspace } = await setUp();
    const writes = Array.from({ length: 20 }, (_, writer) =>
      workspace.write('deep/er/a', `${writer}`, { ifAbsent: true }),
    );
    const results = await Promise.allSettled(writes);
    const winners = results.flatMap(({ status }, writer) => (status === 'fulfilled' ? [`${writer}`] : []));
    expect(winners).toEqual([await readText(workspace, 'deep/er/a')]);
  });

  test.each([
    [{}, '0123456789'],
    [{ offset: 4 }, '456789'],
    [{ length: 3 }, '012'],
    [{ offset: 4, length: 3 }, '456'],
    [{ offset: 8, length: 9 }, '89'],
    [{ offset: 10 }, ''],
    [{ offset: 99, length: 1 }, ''],
    [{ length: 0 }, ''],
  ])('are read in the range %j', async (range, text) => {
    const { workspace } = await setUp();
    await workspace.write('digits', '0123456789');
    expect(Buffer.from(await workspace.read('digits', range)).toString()).toBe(text);
  });

  test('are appended to by many at once without mixing lines', async () => {
    const { workspace, root } = await setUp();
    const other = new LocalWorkspace(root);
    const lines = Array.from(
      { length: 40 },
      (_, index) => `${String(index).padStart(2, '0').repeat(20_000)}\n`,
    );
    await Promise.all(lines.map((line, index) => (index % 2 ? workspace : other).append('d/log', line)));
    const written = (await readText(workspace, 'd/log')).split('\n').map((line) => `${line}\n`);
    expect(written.slice(0, -1).sort()).toEqual(lines);
  });

  test('that are absent are told apart from directories', async () => {
    const { workspace } = await setUp();
    await workspace.write('directory/file', '');
    expect(await workspace.stat('absent')).toBeUndefined();
    expect(await workspace.stat('directory/file/below')).toBeUndefined();
    expect(await workspace.delete('directory/file/below')).toBe(false);
    expect(await thrownBy(workspace.read('absent'))).toMatchObject({ code: 'not_found', path: 'absent' });
    expect(await thrownBy(workspace.read('directory'))).toMatchObject({ code: 'is_directory' });
    expect(await thrownBy(workspace.write('directory', ''))).toMatchObject({ code: 'is_directory' });
    expect(await thrownBy(workspace.append('directory', ''))).toMatchObject({ code: 'is_directory' });
    expect(await thrownBy(workspace.write('directory/file/below', ''))).toMatchObject({
      code: 'invalid_path',
    });
    expect(await thrownBy(workspace.write('x'.repeat(300), ''))).toMatchObject({ code: 'invalid_path' });
  });

  test('that are pipes are refused at once', async () => {
    const { workspace, root } = await setUp();
    await workspace.write('a', '');
    expect(spawnSync('mkfifo', [join(root, 'pipe')]).status).toBe(0);
    expect(await thrownBy(workspace.read('pipe'))).toMatchObject({ code: 'invalid_path' });
    expect(await thrownBy(workspace.append('pipe', 'x'))).toMatchObject({ code: 'workspace_io' });
    expect(await paths(workspace)).toEqual(['a']);
  });
});

describe('list', () => {
  test('is sorted by whole path, like its paths are', async () => {
    const { workspace } = await setUp();
    for (const path of ['b', 'a/z', 'a.txt', 'a-b/c', 'a/b/c', 'a0', 'A', 'a/b.c']) {
      await workspace.write(path, '');
    }
    const all = await paths(workspace);
    expect(all).toEqual([...all].sort());
    expect(all).toHaveLength(11);
    expect(await paths(workspace, 'a')).toEqual(['a/b', 'a/b.c', 'a/b/c', 'a/z']);
    expect(await paths(workspace, '/', false)).toEqual(['A', 'a', 'a-b', 'a.txt', 'a0', 'b']);
  });

  test('of what is no directory is empty', async () => {
    const { workspace } = await setUp();
    await workspace.write('file', '');
    expect(await paths(workspace, 'absent')).toEqual([]);
    expect(await paths(workspace, 'file')).toEqual([]);
  });

  test('passes over temporary files, and removes those that a crash left long ago', async () => {
    const { workspace, root } = await setUp();
    await workspace.write('a', '');
    const young = `.x-${'0'.repeat(24)}.tmp`;
    const old = `.x-${'1'.repeat(24)}.tmp`;
    await writeFile(join(root, young), '');
    await writeFile(join(root, old), '');
    const twoHoursAgo = Date.now() / 1000 - 7200;
    await utimes(join(root, old), twoHoursAgo, twoHoursAgo);
    expect(await paths(workspace)).toEqual(['a']);
    expect((await readdir(root)).sort()).toEqual([young, 'a'].sort());
  });
});

describe('confinement', () => {
  const operations: readonly (readonly [string, (workspace: Workspace, path: string) => Promise<unknown>])[] =
    [
      ['read', (workspace, path) => workspace.read(path)],
      ['write', (workspace, path) => workspace.write(path, 'overwritten')],
      ['write ifAbsent', (workspace, path) => workspace.write(path, 'overwritten', { ifAbsent: true })],
      ['append', (workspace, path) => workspace.append(path, 'appended')],
      ['list', (workspace, path) => paths(workspace, path)],
      ['stat', (workspace, path) => workspace.stat(path)],
    ];

  describe.each(operations)('%s', (name, operation) => {
    test.each([
      '../outside/secret',
      'link/secret',
      'file-link',
      'chain',
      'directory/link/secret',
      'dangling',
    ])('is refused for %s', async (path) => {
      const { workspace, root, outside } = await setUp();
      await workspace.write('directory/inside', '');
      await symlink(outside, join(root, 'link'));
      await symlink(outside, join(root, 'directory/link'));
      await symlink(join(outside, 'secret'), join(root, 'file-link'));
      await symlink('file-link', join(root, 'chain'));
      await symlink(join(outside, 'not-yet'), join(root, 'dangling'));
      expect(await thrownBy(operation(workspace, path))).toMatchObject({ code: 'outside_workspace', path });
      expect(await readdir(outside)).toEqual(['secret']);
      expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('secret');
    });

    if (name.startsWith('write') || name === 'append') {
      test('makes nothing below a link that leads out', async () => {
        const { workspace, root, outside } = await setUp();
        await workspace.write('a', '');
        await symlink(outside, join(root, 'link'));
        for (const path of ['link/new', 'link/new/deeper']) {
          expect(await thrownBy(operation(workspace, path))).toMatchObject({ code: 'outside_workspace' });
        }
        expect(await readdir(outside)).toEqual(['secret']);
      });
    }
  });

  test('a link that stays inside is followed', async () => {
    const { workspace, root } = await setUp();
    await workspace.write('real/file', 'old');
    await symlink('real', join(root, 'link'));
    await symlink('real/file', join(root, 'file-link'));
    expect(await readText(workspace, 'link/file')).toBe('old');
    await workspace.write('file-link', 'new');
    expect(await readText(workspace, 'real/file')).toBe('new');
    expect(await readlink(join(root, 'file-link'))).toBe('real/file');
    expect(await listed(workspace)).toMatchObject([
      { path: 'file-link', type: 'file', size: 3 },
      { path: 'link', type: 'directory' },
      { path: 'real', type: 'directory' },
      { path: 'real/file', type: 'file' },
    ]);
  });

  test('links that lead out, nowhere or in circles are not listed', async () => {
    const { workspace, root, outside } = await setUp();
    await workspace.write('a', '');
    await symlink(outside, join(root, 'out'));
    await symlink('absent', join(root, 'nowhere'));
    await symlink('circle', join(root, 'circle'));
    await symlink('.', join(root, 'self'));
    expect(await paths(workspace)).toEqual(['a', 'self']);
    expect(await thrownBy(workspace.read('circle'))).toMatchObject({ code: 'outside_workspace' });
  });

  test('deleting a link deletes the link', async () => {
    const { workspace, root, outside } = await setUp();
    await workspace.write('a', '');
    await symlink(outside, join(root, 'link'));
    expect(await workspace.delete('link')).toBe(true);
    expect(await readdir(root)).toEqual(['a']);
    expect(await readdir(outside)).toEqual(['secret']);
    await symlink(outside, join(root, 'link'));
    expect(await thrownBy(workspace.delete('link/secret'))).toMatchObject({ code: 'outside_workspace' });
    expect(await readdir(outside)).toEqual(['secret']);
  });

  test('the root may be a link itself, and stands', async () => {
    const { directory, root, workspace } = await setUp();
    await workspace.write('a', 'text');
    await symlink(root, join(directory, 'alias'));
    const alias = new LocalWorkspace(join(directory, 'alias'));
    expect(await readText(alias, 'a')).toBe('text');
    expect(await thrownBy(alias.delete('/'))).toMatchObject({ code: 'invalid_path' });
  });

  test('a directory whose name begins like the root is outside', async () => {
    const { directory, root, workspace } = await setUp();
    await workspace.write('a', '');
    await mkdir(join(directory, 'root-2'));
    await symlink(join(directory, 'root-2'), join(root, 'link'));
    expect(await thrownBy(workspace.write('link/x', ''))).toMatchObject({ code: 'outside_workspace' });
  });

  test.each(['.locks', '.locks/name.lock'])(
    'no lock is made or removed behind a link at %s',
    async (link) => {
      const { workspace, root, outside } = await setUp();
      const old = join(outside, 'of-another', 'entry');
      await mkdir(old, { recursive: true });
      await utimes(old, 0, 0);
      for (const target of [outside, join(root, 'inside')]) {
        await mkdir(join(root, 'inside'), { recursive: true });
        await mkdir(dirname(join(root, link)), { recursive: true });
        await symlink(target, join(root, link));
        const task = vi.fn();
        expect(await thrownBy(workspace.lock('name', task))).toMatchObject({ code: 'outside_workspace' });
        expect(task).not.toHaveBeenCalled();
        await rm(join(root, link));
      }
      // A link that stands beside the lock is left alone.
      await mkdir(join(root, '.locks'), { recursive: true });
      await symlink(join(outside, 'of-another'), join(root, '.locks/beside.lock'));
      await workspace.lock('name', async () => {});
      expect(await readdir(join(outside, 'of-another'))).toEqual(['entry']);
      expect((await readdir(outside)).sort()).toEqual(['of-another', 'secret']);
      expect(await readdir(join(root, 'inside'))).toEqual([]);
    },
  );

  test('the locks are nobody’s to touch', async () => {
    const { workspace } = await setUp();
    await workspace.lock('name', async () => {
      expect(await paths(workspace)).toEqual([]);
      expect(await thrownBy(workspace.delete('.locks'))).toMatchObject({ code: 'invalid_path' });
      expect(await thrownBy(workspace.write('/.locks/x', ''))).toMatchObject({ code: 'invalid_path' });
    });
  });
});

describe('a workspace that cannot be used', () => {
  test('says at once where and what to do', async () => {
    const { directory } = await setUp();
    await writeFile(join(directory, 'file'), '');
    for (const root of [join(directory, 'file'), join(directory, 'file/below')]) {
      const workspace = new LocalWorkspace(root);
      const expected = {
        code: 'workspace_io',
        path: root,
        message: expect.stringContaining('choose another'),
      };
      expect(await thrownBy(workspace.write('a', ''))).toMatchObject(expected);
      expect(await thrownBy(workspace.lock('a', async () => {}))).toMatchObject(expected);
      expect(await thrownBy((async () => workspace.check())())).toMatchObject(expected);
    }
  });

  test('works once the reason is gone', async () => {
    const { directory } = await setUp();
    const root = join(directory, 'file');
    await writeFile(root, '');
    const workspace = new LocalWorkspace(root);
    await thrownBy(workspace.write('a', ''));
    await rm(root);
    workspace.check();
    await workspace.write('a', 'text');
    expect(await readText(workspace, 'a')).toBe('text');
  });

  test('read-only refuses every change and makes nothing', async () => {
    const { directory, root, workspace } = await setUp();
    await workspace.write('a', 'text');
    const readOnly = new LocalWorkspace(root, { readOnly: true });
    readOnly.check();
    expect(await readText(readOnly, 'a')).toBe('text');
    for (const change of [
      () => readOnly.write('a', ''),
      () => readOnly.append('a', ''),
      () => readOnly.delete('a'),
      () => readOnly.lock('a', async () => {}),
    ]) {
      expect(await thrownBy(change())).toMatchObject({ code: 'read_only' });
    }
    expect(await readText(workspace, 'a')).toBe('text');

    const absent = new LocalWorkspace(join(directory, 'absent'), { readOnly: true });
    expect(() => absent.check()).toThrowError('absent');
    expect(await thrownBy(absent.read('a'))).toMatchObject({ code: 'workspace_io' });
    expect(await readdir(directory)).not.toContain('absent');
  });

  test('unknown options and an empty root are refused', () => {
    expect(() => new LocalWorkspace('a', { readonly: true } as never)).toThrowError('readonly');
    expect(() => new LocalWorkspace('')).toThrowError('must name a directory');
    for (const hidden of ['*.pem', '.e?v', 'config/secrets', 'a**']) {
      expect(() => new LocalWorkspace('a', { hidden: ['.env*', hidden] }), hidden).toThrowError('hidden[1]');
    }
  });
});
