import { readText } from '@x/core';
import { describe, expect } from 'vitest';
import { listed, refusalOf } from './entries.js';
import type { WorkspaceSuite } from './workspace-suite.js';

/** Names that a workspace confuses when it builds keys or patterns out of them. */
const odd = [' ', 'a b', ...'{a} * a* ? [a] : a:b %2e ~ -rf __proto__ é 漢 🦀'.split(' ')];

/** A path means one file, inside. */
export function paths(suite: WorkspaceSuite): void {
  describe('paths', () => {
    suite.test('of several forms mean the same file', async (workspace) => {
      await workspace.write('/a//./b', 'x');
      for (const path of ['a/b', '/a/b', './a/b', 'a/./b', 'a//b', 'a/b/']) {
        expect(await readText(workspace, path)).toBe('x');
      }
      expect(await listed(workspace)).toEqual(['a', 'a/b']);
    });

    suite.test('with odd names stay apart', async (workspace) => {
      for (const name of odd) await workspace.write(`d/${name}/${name}`, name);
      for (const name of odd) expect(await readText(workspace, `d/${name}/${name}`)).toBe(name);
      expect(await listed(workspace, 'd', false)).toEqual(odd.map((name) => `d/${name}`).sort());
      expect(await workspace.delete('d/*')).toBe(true);
      expect(await listed(workspace, 'd', false)).toHaveLength(odd.length - 1);
    });

    suite.test(
      'that lead out or mean something else elsewhere are refused by every method',
      async (workspace) => {
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
      },
    );

    suite.test('tell what is absent from directories, and files from both', async (workspace) => {
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
