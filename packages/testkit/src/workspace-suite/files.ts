import { readText, type Workspace } from '@x/core';
import { describe, expect } from 'vitest';
import { listed, refusalOf } from './entries.js';
import type { WorkspaceSuite } from './workspace-suite.js';

/** Tests that a file contains exactly what was written to it. */
export function files(suite: WorkspaceSuite): void {
  describe('files', () => {
    suite.test('a file is written and read, and the directories above it are created', async (workspace) => {
      await workspace.write('a/b/c.txt', 'héllo 🦀');
      expect(await readText(workspace, 'a/b/c.txt')).toBe('héllo 🦀');
      expect(await listed(workspace)).toEqual(['a', 'a/b', 'a/b/c.txt']);
    });

    suite.test('a file holds any bytes, or none', async (workspace) => {
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      await workspace.write('bytes', bytes);
      expect([...(await workspace.read('bytes'))]).toEqual([...bytes]);
      await workspace.write('part', bytes.subarray(100, 103));
      expect([...(await workspace.read('part'))]).toEqual([100, 101, 102]);
      await workspace.write('none', '');
      expect(await workspace.read('none')).toHaveLength(0);
      expect(await workspace.stat('none')).toMatchObject({ type: 'file', size: 0 });
    });

    suite.test('a write replaces the whole file', async (workspace) => {
      await workspace.write('a', 'a longer text');
      await workspace.write('a', 'short');
      expect(await readText(workspace, 'a')).toBe('short');
      expect(await listed(workspace)).toEqual(['a']);
    });

    suite.test('a file of several megabytes comes back unchanged', async (workspace) => {
      const bytes = Buffer.alloc(5_000_003, 'é漢🦀\n');
      await workspace.write('large', bytes);
      expect(Buffer.compare(await workspace.read('large'), bytes)).toBe(0);
    });

    suite.test('a read during a write returns the old or the new content, never a mix', async (workspace) => {
      const texts = ['a', 'b'].map((letter) => letter.repeat(300_000));
      await workspace.write('file', texts[0] ?? '');
      const reads: Promise<string>[] = [];
      for (let round = 0; round < 10; round++) {
        const write = workspace.write('file', texts[round % 2] ?? '');
        reads.push(readText(workspace, 'file'), readText(workspace, 'file'));
        await write;
      }
      for (const text of await Promise.all(reads)) expect(texts.includes(text)).toBe(true);
    });

    suite.test('a write with ifAbsent does not change an existing file', async (workspace) => {
      await workspace.write('a', 'first', { ifAbsent: true });
      expect(await refusalOf(workspace.write('a', 'second', { ifAbsent: true }))).toBe('already_exists');
      expect(await readText(workspace, 'a')).toBe('first');
    });

    suite.test('of concurrent writes with ifAbsent, exactly one succeeds', async (workspace) => {
      const writes = Array.from({ length: 20 }, (_, writer) =>
        workspace.write('deep/er/a', `${writer}`, { ifAbsent: true }),
      );
      const results = await Promise.allSettled(writes);
      const winners = results.flatMap(({ status }, writer) => (status === 'fulfilled' ? [`${writer}`] : []));
      expect(winners).toEqual([await readText(workspace, 'deep/er/a')]);
    });

    suite.testTwo('another instance sees a change at once', async (first, second) => {
      await first.write('a/b', 'one');
      expect(await readText(second, 'a/b')).toBe('one');
      await second.append('a/b', ' two');
      expect(await readText(first, 'a/b')).toBe('one two');
      expect(await second.delete('a')).toBe(true);
      expect(await first.stat('a/b')).toBeUndefined();
    });
  });
}

const cases = [
  [{}, '0123456789'],
  [{ offset: 4 }, '456789'],
  [{ length: 3 }, '012'],
  [{ offset: 4, length: 3 }, '456'],
  [{ offset: 8, length: 9 }, '89'],
  [{ offset: 10 }, ''],
  [{ offset: 99, length: 1 }, ''],
  [{ length: 0 }, ''],
  [{ offset: 3, length: 0 }, ''],
] as const;

/** Tests that ranges of a file are read by bytes. */
export function ranges(suite: WorkspaceSuite): void {
  describe('ranges', () => {
    for (const [range, text] of cases) {
      suite.test(`range ${JSON.stringify(range)} of ten digits`, async (workspace) => {
        await workspace.write('digits', '0123456789');
        expect(Buffer.from(await workspace.read('digits', range)).toString()).toBe(text);
      });
    }

    suite.test('ranges count bytes, not characters', async (workspace) => {
      await workspace.write('text', 'é漢');
      expect([...(await workspace.read('text', { offset: 1, length: 2 }))]).toEqual([0xa9, 0xe6]);
    });
  });
}

/** Tests that appended data is contiguous at the end of the file. */
export function appending(suite: WorkspaceSuite): void {
  describe('appending', () => {
    suite.test('append adds to the end, and creates a missing file', async (workspace) => {
      await workspace.append('logs/log', 'one\n');
      await workspace.append('logs/log', Buffer.from('two\n'));
      expect(await readText(workspace, 'logs/log')).toBe('one\ntwo\n');
      await workspace.write('logs/log', '');
      await workspace.append('logs/log', 'three\n');
      expect(await readText(workspace, 'logs/log')).toBe('three\n');
      expect(await workspace.stat('logs/log')).toMatchObject({ size: 6 });
    });

    suite.test('concurrent appends do not mix their lines', async (workspace) => {
      const lines = Array.from(
        { length: 30 },
        (_, index) => `${String(index).padStart(2, '0').repeat(20_000)}\n`,
      );
      await Promise.all(lines.map((line) => workspace.append('d/log', line)));
      const written = (await readText(workspace, 'd/log')).split('\n').map((line) => `${line}\n`);
      expect(written.slice(0, -1).sort()).toEqual(lines);
    });

    suite.testTwo('concurrent appends of two instances lose nothing', async (first, second) => {
      const lines = Array.from({ length: 40 }, (_, index) => `${index}\n`);
      await Promise.all(lines.map((line, index) => (index % 2 ? first : second).append('log', line)));
      const written = (await readText(first, 'log')).split('\n').slice(0, -1);
      expect(written.map(Number).sort((left, right) => left - right)).toEqual(lines.map((_, index) => index));
    });

    suite.test('append to a directory is rejected', async (workspace) => {
      await workspace.write('directory/file', '');
      expect(await refusalOf(workspace.append('directory', 'x'))).toBe('is_directory');
    });
  });
}

/** Tests that only one task at a time holds a lock. A workspace without `lock` passes. */
export function locks(suite: WorkspaceSuite): void {
  describe('locks', () => {
    suite.test('one task at a time holds a lock', async (workspace) => {
      await expectExclusive([workspace]);
    });

    suite.testTwo('one task of both instances at a time holds a lock', async (first, second) => {
      await expectExclusive([first, second]);
    });

    suite.test(
      'lock returns the result of the task, and is free after the task failed',
      async (workspace) => {
        if (workspace.lock === undefined) return expect(workspace).not.toHaveProperty('lock');
        expect(await workspace.lock('name', async () => 'answer')).toBe('answer');
        const failing = workspace.lock('name', async () => {
          throw new RangeError('of the task');
        });
        await expect(failing).rejects.toThrow(RangeError);
        expect(await workspace.lock('name', async (lock) => lock.check(), { timeoutMs: 0 })).toBeUndefined();
      },
    );

    suite.test('lock waits no longer than timeoutMs', async (workspace) => {
      if (workspace.lock === undefined) return expect(workspace).not.toHaveProperty('lock');
      const lock = workspace.lock.bind(workspace);
      await lock('a/b: *', async (held) => {
        await held.check();
        expect(await refusalOf(lock('a/b: *', async () => {}, { timeoutMs: 20 }))).toBe('locked');
        expect(await lock('another', async () => 'free', { timeoutMs: 1_000 })).toBe('free');
      });
    });

    suite.test('a lock is not visible as a file', async (workspace) => {
      if (workspace.lock === undefined) return expect(workspace).not.toHaveProperty('lock');
      await workspace.lock('name', async () => {
        for await (const { path } of workspace.list('', { recursive: true }))
          throw new Error(`The workspace lists ${path}, although only a lock was taken.`);
        expect(await workspace.stat('name')).toBeUndefined();
      });
    });
  });
}

/** Increments a number in a file with a separate read and write. The sum is correct only if no other task writes in between. */
async function expectExclusive(workspaces: readonly Workspace[]): Promise<void> {
  const rounds = 10;
  const tasks = Array.from({ length: rounds }, (_, index) => workspaces[index % workspaces.length]);
  const increments = tasks.map(async (workspace) =>
    workspace?.lock?.('counter', async (lock) => {
      const before =
        (await workspace.stat('count')) === undefined
          ? 0
          : Number(Buffer.from(await workspace.read('count')));
      await lock.check();
      await workspace.write('count', `${before + 1}`);
    }),
  );
  await Promise.all(increments);
  const [workspace] = workspaces;
  if (workspace?.lock === undefined) return expect(workspace).not.toHaveProperty('lock');
  expect(Buffer.from(await workspace.read('count')).toString()).toBe(`${rounds}`);
}
