import { existsSync } from 'node:fs';
import { link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { type Workspace, WorkspaceError } from '../../src/index.js';
import { confineWorkspace } from '../../src/internal.js';
import { LocalWorkspace } from '../../src/node.js';
import { printed, runChild } from '../children/run-child.js';
import { temporaryDirectory } from '../temporary-directory.js';
import { thrownBy } from '../thrown-by.js';

vi.setConfig({ testTimeout: 3_600_000 });

/** Calls of each operation beside a process that swaps files. */
const ROUNDS = Number(process.env.X_RACES ?? 200);

async function setUp(isWithoutHandles = false) {
  const directory = await temporaryDirectory();
  const [root, outside] = [join(directory, 'root'), join(directory, 'outside')];
  for (const folder of [join(root, 'l'), outside]) await mkdir(join(folder, 'deep'), { recursive: true });
  for (const file of ['f.txt', 'deep/f.txt', 'log']) {
    await writeFile(join(root, 'l', file), 'inside');
    await writeFile(join(outside, file), 'FOREIGN');
  }
  await symlink('../outside', join(root, 'm'));
  const swap = async () => {
    await rename(join(root, 'l'), join(root, 'between'));
    await rename(join(root, 'm'), join(root, 'l'));
    await rename(join(root, 'between'), join(root, 'm'));
  };
  const untouched = async () => {
    expect((await readdir(outside, { recursive: true })).sort()).toEqual([
      'deep',
      'deep/f.txt',
      'f.txt',
      'log',
    ]);
    for (const file of ['f.txt', 'deep/f.txt', 'log'])
      expect(await readFile(join(outside, file), 'utf8')).toBe('FOREIGN');
  };
  const Class = isWithoutHandles ? await withoutHandles() : LocalWorkspace;
  return { directory, root, outside, workspace: new Class(root), swap, untouched };
}

/** The workspace as it is on a system that has no `/proc/self/fd`. */
async function withoutHandles(): Promise<typeof LocalWorkspace> {
  const { value } = Object.getOwnPropertyDescriptor(process, 'platform') ?? {};
  vi.resetModules();
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  const { LocalWorkspace: Other } = await import('../../src/node.js');
  Object.defineProperty(process, 'platform', { value });
  vi.resetModules();
  return Other;
}

type Operation = (workspace: Workspace, folder: string) => Promise<unknown>;

async function textsIn(workspace: Workspace, folder: string): Promise<unknown[]> {
  const texts: unknown[] = [];
  for await (const entry of workspace.list(folder, { recursive: true }))
    texts.push(entry.path, entry.type === 'file' && entry.size);
  return texts;
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  read: async (workspace, folder) => Buffer.from(await workspace.read(`${folder}/f.txt`)).toString(),
  'read deep': async (workspace, folder) =>
    Buffer.from(await workspace.read(`${folder}/deep/f.txt`)).toString(),
  write: (workspace, folder) => workspace.write(`${folder}/f.txt`, 'written'),
  'write a new file': (workspace, folder) =>
    workspace.write(`${folder}/new-${Math.random()}`, 'written', { ifAbsent: true }),
  'write in a new folder': (workspace, folder) =>
    workspace.write(`${folder}/n${Math.random()}/o/p`, 'written'),
  append: (workspace, folder) => workspace.append(`${folder}/log`, 'appended'),
  'append to a new file': (workspace, folder) =>
    workspace.append(`${folder}/log-${Math.random()}`, 'appended'),
  replace: async (workspace, folder) =>
    (workspace as LocalWorkspace).replace(`${folder}/log`, `${folder}/kept-${Math.random()}`, 'replaced'),
  delete: async (workspace, folder) => {
    await workspace.delete(`${folder}/f.txt`);
    await workspace.delete(`${folder}/deep`);
  },
};

describe.each(['this platform', 'a platform without handles'])('on %s', (platform) => {
  const isOther = platform !== 'this platform';
  const start = () => setUp(isOther);

  describe('a folder that becomes a link after a file in it was judged', () => {
    test.each(Object.keys(OPERATIONS))('is left alone: %s', async (name) => {
      const { workspace, swap, untouched } = await start();
      let waits = true;
      const watched = confineWorkspace(workspace, async () => {
        if (waits) await swap();
        waits = false;
        return undefined;
      });
      const done = OPERATIONS[name]?.(watched, 'l').catch((error: unknown) => error);
      const found = await done;
      expect(waits).toBe(false);
      await untouched();
      if (isOther) expect(WorkspaceError.isInstance(found) || found === undefined).toBe(true);
      else if (name.startsWith('read')) expect(found).toBe('inside');
    });
  });

  test('links, missing files and folders mean the same', async () => {
    const { workspace, root, untouched } = await start();
    await symlink('l/f.txt', join(root, 'inner'));
    expect(Buffer.from(await workspace.read('inner')).toString()).toBe('inside');
    await workspace.write('inner', 'changed');
    expect(await readFile(join(root, 'l/f.txt'), 'utf8')).toBe('changed');
    for (const path of ['m/f.txt', 'm/none', 'm']) {
      for (const operation of [
        () => workspace.read(path),
        () => workspace.write(path, ''),
        () => workspace.append(path, ''),
        () => workspace.stat(path),
      ])
        expect(await thrownBy(operation())).toMatchObject({ code: 'outside_workspace' });
    }
    await workspace.append('a/b/c', 'x');
    await workspace.append('a/b/c', 'y');
    await workspace.lock('name', async () => {});
    expect(await textsIn(workspace, '')).toEqual(
      [
        'a',
        false,
        'a/b',
        false,
        'a/b/c',
        2,
        'inner',
        7,
        'l',
        false,
        'l/deep',
        false,
        'l/deep/f.txt',
        6,
      ].concat(['l/f.txt', 7, 'l/log', 6] as never),
    );
    expect(await workspace.delete('m')).toBe(true);
    expect(await workspace.delete('a')).toBe(true);
    await untouched();
  });
});

describe.skipIf(!existsSync('/proc/self/fd'))('beside a process that swaps a folder for a link', () => {
  test.each([...Object.keys(OPERATIONS), 'list', 'stat'])('%s stays inside', async (name) => {
    const { workspace, root, outside } = await setUp();
    // Each operation may empty the folder.
    const before = await readdir(outside, { recursive: true });
    const child = runChild('swap', root, 'l', 'm');
    await printed(child, 1);
    const answers = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round++) {
      const answer: unknown = await (name === 'list'
        ? textsIn(workspace, 'l')
        : name === 'stat'
          ? workspace.stat('l/f.txt')
          : OPERATIONS[name]?.(workspace, 'l')
      )?.catch((error: { code?: string }) => error.code);
      const text =
        name === 'stat' ? String((answer as { size?: number })?.size) : `${JSON.stringify(answer)}`;
      answers.set(text, (answers.get(text) ?? 0) + 1);
    }
    child.process.kill('SIGKILL');
    await child.ended;
    for (const text of answers.keys()) expect(text).not.toMatch(/FOREIGN|,7|^7$/);
    expect((await readdir(outside, { recursive: true })).sort()).toEqual(before.sort());
    for (const file of ['f.txt', 'deep/f.txt', 'log'])
      expect(await readFile(join(outside, file), 'utf8')).toBe('FOREIGN');
  });

  test('a lock stays inside', async () => {
    const { workspace, root, outside } = await setUp();
    await mkdir(join(root, '.locks'), { recursive: true });
    await symlink('../outside', join(root, 'other'));
    const child = runChild('swap', root, '.locks', 'other');
    await printed(child, 1);
    for (let round = 0; round < ROUNDS; round++)
      await workspace.lock('name', async () => {}, { timeoutMs: 100 }).catch(() => {});
    child.process.kill('SIGKILL');
    await child.ended;
    expect((await readdir(outside)).sort()).toEqual(['deep', 'f.txt', 'log']);
  });
});

test('what was judged is what is read, whatever the name leads to by now', async () => {
  const { workspace, root } = await setUp();
  await writeFile(join(root, '.env'), 'SECRET');
  await link(join(root, '.env'), join(root, 'b.txt'));
  await writeFile(join(root, 'a.txt'), 'inside');
  const child = runChild('swap', root, 'a.txt', 'b.txt');
  await printed(child, 1);
  const { id: secret } = await workspace.identify('.env');
  const confined = confineWorkspace(workspace, (_, __, file) =>
    file?.id === secret ? 'kept back' : undefined,
  );
  const answers = new Set<string>();
  for (let round = 0; round < ROUNDS; round++)
    answers.add(
      await confined.read('a.txt').then(
        (bytes) => Buffer.from(bytes).toString(),
        ({ code }) => code,
      ),
    );
  child.process.kill('SIGKILL');
  await child.ended;
  expect([...answers].filter((answer) => !['inside', 'refused', 'not_found'].includes(answer))).toEqual([]);
  await rm(join(root, 'b.txt'), { force: true });
});
