import { readText } from '@x/core';
import { describe, expect } from 'vitest';
import { entries, listed, refusalOf } from './entries.js';
import type { WorkspaceSuite } from './workspace-suite.js';

/** Tests that `list` returns the entries of a directory, and `stat` the same entry for one path. */
export function listing(suite: WorkspaceSuite): void {
  describe('listing', () => {
    suite.test('list sorts by the whole path, one level or all of them', async (workspace) => {
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

    suite.test('list of a path that is not a directory is empty', async (workspace) => {
      await workspace.write('ab/c', '');
      expect(await listed(workspace, 'a')).toEqual([]);
      expect(await listed(workspace, 'absent/deep')).toEqual([]);
    });

    suite.test('list of an empty workspace is empty', async (workspace) => {
      expect(await listed(workspace)).toEqual([]);
      expect(await listed(workspace, '.', false)).toEqual([]);
    });

    suite.test('list and stat report type, size and time', async (workspace) => {
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

    suite.test('list finds all of many files', async (workspace) => {
      const names = Array.from({ length: 600 }, (_, index) => `many/f-${String(index).padStart(3, '0')}`);
      for (let start = 0; start < names.length; start += 50) {
        await Promise.all(names.slice(start, start + 50).map((name) => workspace.write(name, name)));
      }
      expect(await listed(workspace, 'many')).toEqual(names);
    });
  });
}

/** Tests that `delete` removes exactly one path. */
export function deletion(suite: WorkspaceSuite): void {
  describe('deletion', () => {
    suite.test('deleting a file keeps its neighbors and its directory', async (workspace) => {
      await workspace.write('a/b', '1');
      await workspace.write('a/bc', '2');
      expect(await workspace.delete('a/b')).toBe(true);
      expect(await workspace.delete('a/b')).toBe(false);
      expect(await workspace.stat('a/b')).toBeUndefined();
      expect(await readText(workspace, 'a/bc')).toBe('2');
      expect(await workspace.delete('a/bc')).toBe(true);
      expect(await workspace.stat('a')).toMatchObject({ type: 'directory' });
      expect(await workspace.delete('a')).toBe(true);
      expect(await listed(workspace)).toEqual([]);
    });

    suite.test('deleting a directory removes everything in it and nothing else', async (workspace) => {
      for (const path of ['a/b/c', 'a/b/d/e', 'a/bb', 'ab/c']) await workspace.write(path, path);
      expect(await workspace.delete('a/b')).toBe(true);
      expect(await listed(workspace)).toEqual(['a', 'a/bb', 'ab', 'ab/c']);
      expect(await refusalOf(workspace.read('a/b/d/e'))).toBe('not_found');
      await workspace.write('a/b', 'a file now');
      expect(await readText(workspace, 'a/b')).toBe('a file now');
    });

    suite.test('a new file with the path of a deleted one begins empty', async (workspace) => {
      await workspace.write('a/b', 'old');
      await workspace.delete('a');
      await workspace.append('a/b', 'new');
      expect(await readText(workspace, 'a/b')).toBe('new');
    });

    suite.test('deleting the root is rejected', async (workspace) => {
      expect(await refusalOf(workspace.delete('/'))).toBe('invalid_path');
    });
  });
}

/** Names that a careless workspace may confuse if it builds keys or patterns from them. */
const odd = [' ', 'a b', ...'{a} * a* ? [a] : a:b %2e ~ -rf __proto__ é 漢 🦀'.split(' ')];

/** Tests that a path identifies one file inside the workspace. */
export function paths(suite: WorkspaceSuite): void {
  describe('paths', () => {
    suite.test('different spellings of a path mean the same file', async (workspace) => {
      await workspace.write('/a//./b', 'x');
      for (const path of ['a/b', '/a/b', './a/b', 'a/./b', 'a//b', 'a/b/']) {
        expect(await readText(workspace, path)).toBe('x');
      }
      expect(await listed(workspace)).toEqual(['a', 'a/b']);
    });

    suite.test('files with unusual names stay apart', async (workspace) => {
      for (const name of odd) await workspace.write(`d/${name}/${name}`, name);
      for (const name of odd) expect(await readText(workspace, `d/${name}/${name}`)).toBe(name);
      expect(await listed(workspace, 'd', false)).toEqual(odd.map((name) => `d/${name}`).sort());
      expect(await workspace.delete('d/*')).toBe(true);
      expect(await listed(workspace, 'd', false)).toHaveLength(odd.length - 1);
    });

    suite.test('every method rejects a path that leads outside or is not portable', async (workspace) => {
      const bad = {
        '../a': 'outside_workspace',
        'a/../../b': 'outside_workspace',
        'a\0b': 'invalid_path',
        'a\\b': 'invalid_path',
        'C:/a': 'invalid_path',
      };
      for (const [path, code] of Object.entries(bad)) {
        expect(await refusalOf(workspace.read(path))).toBe(code);
        expect(await refusalOf(workspace.write(path, ''))).toBe(code);
        expect(await refusalOf(workspace.append(path, ''))).toBe(code);
        expect(await refusalOf(workspace.delete(path))).toBe(code);
        expect(await refusalOf(workspace.stat(path))).toBe(code);
        expect(await refusalOf(listed(workspace, path))).toBe(code);
      }
      expect(await refusalOf(workspace.write('x'.repeat(300), ''))).toBe('invalid_path');
    });

    suite.test('missing paths, directories and files are told apart', async (workspace) => {
      await workspace.write('directory/file', '');
      expect(await workspace.stat('absent')).toBeUndefined();
      expect(await workspace.stat('directory/file/below')).toBeUndefined();
      expect(await workspace.delete('directory/file/below')).toBe(false);
      expect(await refusalOf(workspace.read('absent'))).toBe('not_found');
      expect(await refusalOf(workspace.read('absent/below'))).toBe('not_found');
      expect(await refusalOf(workspace.read('directory'))).toBe('is_directory');
      expect(await refusalOf(workspace.read(''))).toBe('is_directory');
      expect(await refusalOf(workspace.write('directory', ''))).toBe('is_directory');
      expect(await refusalOf(workspace.write('directory', '', { ifAbsent: true }))).toMatch(
        /is_directory|already_exists/,
      );
      expect(await refusalOf(workspace.write('directory/file/below', ''))).toBe('invalid_path');
      expect(await refusalOf(workspace.append('directory/file/deep/below', ''))).toBe('invalid_path');
      expect(await listed(workspace)).toEqual(['directory', 'directory/file']);
    });
  });
}
