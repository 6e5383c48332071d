import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { withTemporaryFolder } from '../src/temporary-folder.js';

const CHILD = fileURLToPath(new URL('./children/hold-folder.ts', import.meta.url));

it('lends a folder and removes it with what is in it', async () => {
  const folder = await withTemporaryFolder(async (lent) => {
    await writeFile(join(lent, 'file'), 'x');
    return lent;
  });
  expect(existsSync(folder)).toBe(false);
});

it('removes it after a failure, which it passes on', async () => {
  let folder = '';
  const failing = withTemporaryFolder(async (lent) => {
    folder = lent;
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(folder).not.toBe('');
  expect(existsSync(folder)).toBe(false);
});

it('leaves no listener behind', async () => {
  const before = process.listenerCount('SIGINT');
  await withTemporaryFolder(async () => expect(process.listenerCount('SIGINT')).toBe(before + 1));
  expect(process.listenerCount('SIGINT')).toBe(before);
});

it.each(['SIGINT', 'SIGTERM'] as const)(
  'on %s ends what runs, removes the folder, and ends by the signal',
  async (signal) => {
    const child = spawn(process.execPath, ['--import', 'tsx', CHILD], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const closed = once(child, 'close');
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const folder: string = (await lines.next()).value;
    await vi.waitUntil(() => existsSync(join(folder, 'started')), { timeout: 120_000 });

    child.kill(signal);
    expect((await lines.next()).value).toBe('stopping');
    // A second Ctrl-C does not keep it from clearing up.
    child.kill(signal);
    await writeFile(join(folder, 'let-go'), '');

    expect(await closed).toEqual([null, signal]);
    expect(existsSync(folder)).toBe(false);
  },
);
