import { readText } from '@x/core';
import { describe, expect } from 'vitest';
import { listed, refusalOf } from './entries.js';
import type { WorkspaceSuite } from './workspace-suite.js';

/** Files hold what was written to them, whole. */
export function files(suite: WorkspaceSuite): void {
  describe('files', () => {
    suite.test('are written and read, with the directories above them', async (workspace) => {
      await workspace.write('a/b/c.txt', 'héllo 🦀');
      expect(await readText(workspace, 'a/b/c.txt')).toBe('héllo 🦀');
      expect(await listed(workspace)).toEqual(['a', 'a/b', 'a/b/c.txt']);
    });

    suite.test('hold any bytes, also none', async (workspace) => {
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      await workspace.write('bytes', bytes);
      expect([...(await workspace.read('bytes'))]).toEqual([...bytes]);
      await workspace.write('part', bytes.subarray(100, 103));
      expect([...(await workspace.read('part'))]).toEqual([100, 101, 102]);
      await workspace.write('none', '');
      expect(await workspace.read('none')).toHaveLength(0);
      expect(await workspace.stat('none')).toMatchObject({ type: 'file', size: 0 });
    });

    suite.test('are replaced whole', async (workspace) => {
      await workspace.write('a', 'a longer text');
      await workspace.write('a', 'short');
      expect(await readText(workspace, 'a')).toBe('short');
      expect(await listed(workspace)).toEqual(['a']);
    });

    suite.test('of many megabytes come back as they were', async (workspace) => {
      const bytes = Buffer.alloc(5_000_003, 'é漢🦀\n');
      await workspace.write('large', bytes);
      expect(Buffer.compare(await workspace.read('large'), bytes)).toBe(0);
    });

    suite.test(
      'are seen old or new by who reads while they are written, never in between',
      async (workspace) => {
        const texts = ['a', 'b'].map((letter) => letter.repeat(300_000));
        await workspace.write('file', texts[0] ?? '');
        const reads: Promise<string>[] = [];
        for (let round = 0; round < 10; round++) {
          const write = workspace.write('file', texts[round % 2] ?? '');
          reads.push(readText(workspace, 'file'), readText(workspace, 'file'));
          await write;
        }
        for (const text of await Promise.all(reads)) expect(texts.includes(text)).toBe(true);
      },
    );

    suite.test('are left alone by a write with ifAbsent', async (workspace) => {
      await workspace.write('a', 'first', { ifAbsent: true });
      expect(await refusalOf(workspace.write('a', 'second', { ifAbsent: true }))).toBe('already_exists');
      expect(await readText(workspace, 'a')).toBe('first');
    });

    suite.test('that several write with ifAbsent belong to exactly one', async (workspace) => {
      const writes = Array.from({ length: 20 }, (_, writer) =>
        workspace.write('deep/er/a', `${writer}`, { ifAbsent: true }),
      );
      const results = await Promise.allSettled(writes);
      const winners = results.flatMap(({ status }, writer) => (status === 'fulfilled' ? [`${writer}`] : []));
      expect(winners).toEqual([await readText(workspace, 'deep/er/a')]);
    });

    suite.testTwo('are seen at once by another instance', async (first, second) => {
      await first.write('a/b', 'one');
      expect(await readText(second, 'a/b')).toBe('one');
      await second.append('a/b', ' two');
      expect(await readText(first, 'a/b')).toBe('one two');
      expect(await second.delete('a')).toBe(true);
      expect(await first.stat('a/b')).toBeUndefined();
    });
  });
}
