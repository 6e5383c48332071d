import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { mountWorkspace, readText, type Workspace, WorkspaceError } from '../../src/index.js';
import { LocalWorkspace } from '../../src/node.js';
import { temporaryDirectory } from '../temporary-directory.js';
import { thrownBy } from '../thrown-by.js';

// Disks that are busy take their time.
vi.setConfig({ testTimeout: 300_000 });

async function setUp() {
  const directory = await temporaryDirectory();
  const base = new LocalWorkspace(join(directory, 'base'));
  const repo = new LocalWorkspace(join(directory, 'repo'));
  return { base, repo, workspace: mountWorkspace(base, { repo }) };
}

async function paths(workspace: Workspace, path?: string, recursive = true): Promise<string[]> {
  const all: string[] = [];
  for await (const entry of workspace.list(path, { recursive })) all.push(entry.path);
  return all;
}

describe('mountWorkspace', () => {
  test('sends what lies below a mount to the other workspace, and the rest to the base', async () => {
    const { base, repo, workspace } = await setUp();
    await workspace.write('/repo/src/a.ts', 'a');
    await workspace.append('./repo/src/a.ts', 'b');
    await workspace.write('repository/x', 'x');
    expect(await readText(workspace, 'repo/src/a.ts')).toBe('ab');
    expect(await readText(repo, 'src/a.ts')).toBe('ab');
    expect(await workspace.stat('repo/src/a.ts')).toMatchObject({ path: 'repo/src/a.ts', size: 2 });
    expect(await paths(base)).toEqual(['repository', 'repository/x']);
    expect(await workspace.delete('repo/src')).toBe(true);
    expect(await paths(repo)).toEqual([]);
  });

  test('shows mounts as directories, sorted among the rest', async () => {
    const { base, repo, workspace } = await setUp();
    await base.write('a', '');
    await base.write('repo.txt', '');
    await base.write('z/y', '');
    await repo.write('b/c', '');
    expect(await paths(workspace, '', false)).toEqual(['a', 'repo', 'repo.txt', 'z']);
    expect(await paths(workspace)).toEqual(['a', 'repo', 'repo.txt', 'repo/b', 'repo/b/c', 'z', 'z/y']);
    expect(await paths(workspace, 'repo')).toEqual(['repo/b', 'repo/b/c']);
    expect(await paths(workspace, 'repo/b')).toEqual(['repo/b/c']);
    expect(await paths(workspace, 'z')).toEqual(['z/y']);
    expect(await workspace.stat('repo')).toMatchObject({ path: 'repo', type: 'directory' });
  });

  test('hides a directory of the base with the same name', async () => {
    const { base, repo, workspace } = await setUp();
    await base.write('repo/hidden', '');
    await repo.write('shown', '');
    expect(await paths(workspace)).toEqual(['repo', 'repo/shown']);
    expect(await workspace.stat('repo/hidden')).toBeUndefined();
  });

  test('keeps a mount from being deleted or written over', async () => {
    const { repo, workspace } = await setUp();
    await repo.write('a', '');
    expect(await thrownBy(workspace.delete('repo'))).toMatchObject({ code: 'invalid_path', path: 'repo' });
    expect(await thrownBy(workspace.write('repo', ''))).toMatchObject({ code: 'is_directory' });
    expect(await thrownBy(workspace.read('repo'))).toMatchObject({ code: 'is_directory' });
    expect(await paths(repo)).toEqual(['a']);
  });

  test('names the whole path in errors, and lets no path out of a mount', async () => {
    const { workspace } = await setUp();
    expect(await thrownBy(workspace.read('repo/a'))).toMatchObject({ code: 'not_found', path: 'repo/a' });
    expect(await thrownBy(workspace.read('repo/../a'))).toMatchObject({ code: 'outside_workspace' });
  });

  test('locks in the base', async () => {
    const { base, workspace } = await setUp();
    await workspace.lock?.('name', async () => {
      const other = base.lock('name', async () => {}, { timeoutMs: 0 });
      expect(await thrownBy(other)).toMatchObject({ code: 'locked' });
    });
    const lockless: Workspace = Object.create(base, { lock: { value: undefined } });
    expect(mountWorkspace(lockless, {}).lock).toBeUndefined();
  });

  test('reaches as far as the nearest of its parts', async () => {
    const { base } = await setUp();
    const shared: Workspace = Object.create(base, { reach: { value: 'cluster' } });
    const own: Workspace = Object.create(base, { reach: { value: 'process' } });
    expect(mountWorkspace(shared, {}).reach).toBe('cluster');
    expect(mountWorkspace(shared, { base }).reach).toBe('host');
    expect(mountWorkspace(shared, { base, own }).reach).toBe('process');
  });

  test('takes names of one directory only', async () => {
    const { base } = await setUp();
    for (const name of ['', '.', 'a/b', '..', '/']) {
      expect(() => mountWorkspace(base, { [name]: base })).toThrowError(WorkspaceError);
    }
  });
});
