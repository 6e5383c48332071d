import { readText } from '@x/core';
import { describe, expect } from 'vitest';
import { listed, refusalOf } from './entries.js';
import type { WorkspaceSuite } from './workspace-suite.js';

/** What is deleted is gone, and nothing else. */
export function deletion(suite: WorkspaceSuite): void {
  describe('deletion', () => {
    suite.test('of a file leaves its neighbors and its directory', async (workspace) => {
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

    suite.test('of a directory takes all that is in it, and no more', async (workspace) => {
      for (const path of ['a/b/c', 'a/b/d/e', 'a/bb', 'ab/c']) await workspace.write(path, path);
      expect(await workspace.delete('a/b')).toBe(true);
      expect(await listed(workspace)).toEqual(['a', 'a/bb', 'ab', 'ab/c']);
      expect(await refusalOf(workspace.read('a/b/d/e'))).toBe('not_found');
      await workspace.write('a/b', 'a file now');
      expect(await readText(workspace, 'a/b')).toBe('a file now');
    });

    suite.test('leaves nothing of a file for the next of its name', async (workspace) => {
      await workspace.write('a/b', 'old');
      await workspace.delete('a');
      await workspace.append('a/b', 'new');
      expect(await readText(workspace, 'a/b')).toBe('new');
    });

    suite.test('of the root is refused', async (workspace) => {
      expect(await refusalOf(workspace.delete('/'))).toBe('invalid_path');
    });
  });
}
