import { describe, expect } from 'vitest';
import { entries, listed } from './entries.js';
import type { WorkspaceSuite } from './workspace-suite.js';

/** Directories tell what is in them, and `stat` tells the same of one path. */
export function listing(suite: WorkspaceSuite): void {
  describe('listing', () => {
    suite.test('is sorted by whole path, one level or all', async (workspace) => {
      for (const path of ['a/b/c', 'a.txt', 'a/z', 'B', 'a/b.txt', 'ä/x', 'a-b/c'])
        await workspace.write(path, 'x');
      const all = await listed(workspace);
      expect(all).toEqual([...all].sort());
      expect([...all].sort()).toEqual(
        ['B', 'a', 'a-b', 'a-b/c', 'a.txt', 'a/b', 'a/b.txt', 'a/b/c', 'a/z', 'ä', 'ä/x'].sort(),
      );
      expect(await listed(workspace, '', false)).toEqual(['B', 'a', 'a-b', 'a.txt', 'ä']);
      expect(await listed(workspace, 'a')).toEqual(['a/b', 'a/b.txt', 'a/b/c', 'a/z']);
      expect(await listed(workspace, '/a/b/', false)).toEqual(['a/b/c']);
    });

    suite.test('of what is no directory is empty', async (workspace) => {
      await workspace.write('ab/c', '');
      expect(await listed(workspace, 'a')).toEqual([]);
      expect(await listed(workspace, 'absent/deep')).toEqual([]);
    });

    suite.test('of an empty workspace is empty', async (workspace) => {
      expect(await listed(workspace)).toEqual([]);
      expect(await listed(workspace, '.', false)).toEqual([]);
    });

    suite.test('tells type, size and time, and so does stat', async (workspace) => {
      await workspace.write('d/file', '12345');
      await workspace.append('d/file', '6');
      const all = await entries(workspace);
      expect(all).toMatchObject([
        { path: 'd', type: 'directory', size: 0 },
        { path: 'd/file', type: 'file', size: 6 },
      ]);
      for (const entry of all) {
        expect(await workspace.stat(`./${entry.path}`)).toEqual(entry);
        expect(new Date(entry.modifiedAt).toISOString()).toBe(entry.modifiedAt);
      }
      expect(await workspace.stat('')).toMatchObject({ type: 'directory', size: 0 });
    });

    suite.test('of many files finds all of them', async (workspace) => {
      const names = Array.from({ length: 600 }, (_, index) => `many/f-${String(index).padStart(3, '0')}`);
      for (let start = 0; start < names.length; start += 50) {
        await Promise.all(names.slice(start, start + 50).map((name) => workspace.write(name, name)));
      }
      expect(await listed(workspace, 'many')).toEqual(names);
    });
  });
}
