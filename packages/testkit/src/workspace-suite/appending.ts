import { readText } from '@x/core';
import { describe, expect } from 'vitest';
import { refusalOf } from './entries.js';
import type { WorkspaceSuite } from './workspace-suite.js';

/** What is appended stands at the end, in one piece. */
export function appending(suite: WorkspaceSuite): void {
  describe('appending', () => {
    suite.test('adds to the end, and creates what is not there', async (workspace) => {
      await workspace.append('logs/log', 'one\n');
      await workspace.append('logs/log', Buffer.from('two\n'));
      expect(await readText(workspace, 'logs/log')).toBe('one\ntwo\n');
      await workspace.write('logs/log', '');
      await workspace.append('logs/log', 'three\n');
      expect(await readText(workspace, 'logs/log')).toBe('three\n');
      expect(await workspace.stat('logs/log')).toMatchObject({ size: 6 });
    });

    suite.test('by many at once mixes no lines', async (workspace) => {
      const lines = Array.from(
        { length: 30 },
        (_, index) => `${String(index).padStart(2, '0').repeat(20_000)}\n`,
      );
      await Promise.all(lines.map((line) => workspace.append('d/log', line)));
      const written = (await readText(workspace, 'd/log')).split('\n').map((line) => `${line}\n`);
      expect(written.slice(0, -1).sort()).toEqual(lines);
    });

    suite.testTwo('by two instances at once loses nothing', async (first, second) => {
      const lines = Array.from({ length: 40 }, (_, index) => `${index}\n`);
      await Promise.all(lines.map((line, index) => (index % 2 ? first : second).append('log', line)));
      const written = (await readText(first, 'log')).split('\n').slice(0, -1);
      expect(written.map(Number).sort((left, right) => left - right)).toEqual(lines.map((_, index) => index));
    });

    suite.test('to a directory is refused', async (workspace) => {
      await workspace.write('directory/file', '');
      expect(await refusalOf(workspace.append('directory', 'x'))).toBe('is_directory');
    });
  });
}
