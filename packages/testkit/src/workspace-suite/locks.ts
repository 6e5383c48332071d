import type { Workspace } from '@x/core';
import { describe, expect } from 'vitest';
import { refusalOf } from './entries.js';
import type { WorkspaceSuite } from './workspace-suite.js';

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
