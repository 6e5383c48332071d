import { readText, type Workspace } from '@x/core';
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

/** Parts of a file are read by bytes. */
export function ranges(suite: WorkspaceSuite): void {
  describe('ranges', () => {
    for (const [range, text] of cases) {
      suite.test(`${JSON.stringify(range)} of ten digits`, async (workspace) => {
        await workspace.write('digits', '0123456789');
        expect(Buffer.from(await workspace.read('digits', range)).toString()).toBe(text);
      });
    }

    suite.test('count bytes, not characters', async (workspace) => {
      await workspace.write('text', 'é漢');
      expect([...(await workspace.read('text', { offset: 1, length: 2 }))]).toEqual([0xa9, 0xe6]);
    });
  });
}

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

/** Whoever has a lock has it alone. A workspace without locks passes by leaving `lock` out. */
export function locks(suite: WorkspaceSuite): void {
  describe('locks', () => {
    suite.test('are held by one task at a time', async (workspace) => {
      await expectExclusive([workspace]);
    });

    suite.testTwo('are held by one task of both instances at a time', async (first, second) => {
      await expectExclusive([first, second]);
    });

    suite.test('answer what the task answers, and are free after it failed', async (workspace) => {
      if (workspace.lock === undefined) return expect(workspace).not.toHaveProperty('lock');
      expect(await workspace.lock('name', async () => 'answer')).toBe('answer');
      const failing = workspace.lock('name', async () => {
        throw new RangeError('of the task');
      });
      await expect(failing).rejects.toThrow(RangeError);
      expect(await workspace.lock('name', async (lock) => lock.check(), { timeoutMs: 0 })).toBeUndefined();
    });

    suite.test('are not waited for longer than asked', async (workspace) => {
      if (workspace.lock === undefined) return expect(workspace).not.toHaveProperty('lock');
      const lock = workspace.lock.bind(workspace);
      await lock('a/b: *', async (held) => {
        await held.check();
        expect(await refusalOf(lock('a/b: *', async () => {}, { timeoutMs: 20 }))).toBe('locked');
        expect(await lock('another', async () => 'free', { timeoutMs: 1_000 })).toBe('free');
      });
    });

    suite.test('are no files', async (workspace) => {
      if (workspace.lock === undefined) return expect(workspace).not.toHaveProperty('lock');
      await workspace.lock('name', async () => {
        for await (const { path } of workspace.list('', { recursive: true }))
          throw new Error(`lists ${path}`);
        expect(await workspace.stat('name')).toBeUndefined();
      });
    });
  });
}

/** Counts up in a file, reading and writing apart, which only adds up when nobody comes in between. */
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
