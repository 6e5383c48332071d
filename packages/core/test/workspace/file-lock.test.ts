import { mkdir, readdir, readFile, rmdir, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { withFileLock } from '../../src/workspace/file-lock.js';
import { formatHolder, thisProcess } from '../../src/workspace/lock-holder.js';
import { printed, runChild } from '../children/run-child.js';
import { temporaryDirectory } from '../temporary-directory.js';
import { thrownBy } from '../thrown-by.js';

// Disks that are busy take their time.
vi.setConfig({ testTimeout: 300_000 });

const TOKEN = '00000000-0000-4000-8000-000000000000';

async function newLock() {
  const directory = await temporaryDirectory();
  return { directory, path: join(directory, 'locks', 'a.lock') };
}

/** A lock as another process would hold it. */
async function holdAs(path: string, holder: Partial<ReturnType<typeof thisProcess>>, silentSeconds = 0) {
  const entry = join(path, formatHolder({ ...thisProcess(), token: TOKEN, ...holder }));
  await mkdir(entry, { recursive: true });
  const time = Date.now() / 1000 - silentSeconds;
  await utimes(entry, time, time);
  return entry;
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('within a process', () => {
  test('tasks run one after the other, in the order in which they came', async () => {
    const { path } = await newLock();
    const order: number[] = [];
    let running = 0;
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        withFileLock(path, async () => {
          running++;
          expect(running).toBe(1);
          await new Promise(setImmediate);
          order.push(index);
          running--;
        }),
      ),
    );
    expect(order).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  test('answers what the task answers, and passes on what it throws', async () => {
    const { path } = await newLock();
    expect(await withFileLock(path, async () => 7)).toBe(7);
    const error = Object.assign(new Error('mine'), { code: 'ENOENT', errno: -2 });
    expect(await thrownBy(withFileLock(path, () => Promise.reject(error)))).toBe(error);
    expect(await withFileLock(path, async () => 8)).toBe(8);
  });

  test('different locks do not wait for each other', async () => {
    const { path } = await newLock();
    await withFileLock(path, () => withFileLock(`${path}-2`, async () => {}, { timeoutMs: 0 }));
  });

  test('who waits too long gives up and holds up nobody', async () => {
    const { path } = await newLock();
    const gate = deferred();
    const first = withFileLock(path, () => gate.promise);
    const hopeless = thrownBy(withFileLock(path, async () => {}, { timeoutMs: 20 }));
    const third = withFileLock(path, async () => 'third');
    expect(await hopeless).toMatchObject({ code: 'locked', path });
    gate.resolve();
    await first;
    expect(await third).toBe('third');
  });

  test('different locks come and go in one directory', async () => {
    const { path } = await newLock();
    let runs = 0;
    await Promise.all(
      Array.from({ length: 6 }, async (_, lane) => {
        for (let round = 0; round < 150; round++) await withFileLock(`${path}-${lane}`, async () => runs++);
      }),
    );
    expect(runs).toBe(900);
    expect(await readdir(dirname(path))).toEqual([]);
  });

  test('leaves nothing behind', async () => {
    const { path } = await newLock();
    await Promise.all([withFileLock(path, async () => {}), withFileLock(`${path}-2`, async () => {})]);
    expect(await readdir(dirname(path))).toEqual([]);
  });
});

describe('between processes', () => {
  test('increments of one counter are all there', async () => {
    const { path, directory } = await newLock();
    const counter = join(directory, 'counter');
    await writeFile(counter, '0');
    const children = Array.from({ length: 4 }, () => runChild('count-up', path, counter, '25'));
    expect(await Promise.all(children.map((child) => child.ended))).toEqual([0, 0, 0, 0]);
    expect(await readFile(counter, 'utf8')).toBe('100');
    expect(await readdir(directory)).toEqual(['counter', 'locks']);
  });

  test('a lock held elsewhere is reported with its holder, and passes on when that one is killed', async () => {
    const { path } = await newLock();
    const child = runChild('hold-lock', path);
    await printed(child, 1);
    const refused = await thrownBy(withFileLock(path, async () => {}, { timeoutMs: 30 }));
    expect(refused).toMatchObject({ code: 'locked', path });
    expect(refused.message).toContain(`process ${child.process.pid} on `);
    expect(refused.message).toContain(path);

    const waiting = withFileLock(path, async () => 'mine', { timeoutMs: 30_000 });
    child.process.kill('SIGKILL');
    expect(await waiting).toBe('mine');
    await child.ended;
  });

  test('a dead holder’s lock goes to exactly one of those who wait', async () => {
    const { path, directory } = await newLock();
    const counter = join(directory, 'counter');
    await writeFile(counter, '0');
    const child = runChild('hold-lock', path);
    await printed(child, 1);
    const children = Array.from({ length: 3 }, () => runChild('count-up', path, counter, '10'));
    child.process.kill('SIGKILL');
    expect(await Promise.all(children.map((other) => other.ended))).toEqual([0, 0, 0]);
    expect(await readFile(counter, 'utf8')).toBe('30');
  });
});

describe('a holder', () => {
  /** After a first use of the directory: that one removes what is dead wherever it lies. */
  async function newLock() {
    const directory = await temporaryDirectory();
    const path = join(directory, 'locks', 'a.lock');
    await withFileLock(path, async () => {});
    return { path };
  }

  test('that ended is succeeded, also when another process got its number', async () => {
    const { path } = await newLock();
    await holdAs(path, { started: '1' });
    expect(await withFileLock(path, async () => 'mine', { timeoutMs: 0 })).toBe('mine');
  });

  test('that lives is waited for, however long it has been silent', async () => {
    const { path } = await newLock();
    await holdAs(path, {}, 3600);
    expect(await thrownBy(withFileLock(path, async () => {}, { timeoutMs: 0 }))).toMatchObject({
      code: 'locked',
    });
  });

  test('elsewhere is waited for while it gives signs of life', async () => {
    const { path } = await newLock();
    await holdAs(path, { host: 'elsewhere+0', pid: 1 }, 20);
    const refused = await thrownBy(withFileLock(path, async () => {}, { timeoutMs: 0 }));
    expect(refused.message).toContain('process 1 on elsewhere and');
  });

  test('elsewhere is succeeded when it is silent for more than 30 seconds', async () => {
    const { path } = await newLock();
    await holdAs(path, { host: 'elsewhere+0', pid: 1 }, 31);
    expect(await withFileLock(path, async () => 'mine', { timeoutMs: 0 })).toBe('mine');
  });

  test('gives a sign of life every five seconds', async () => {
    const { path } = await newLock();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    await withFileLock(path, async () => {
      const [name = ''] = await readdir(path);
      await utimes(join(path, name), 1, 1);
      vi.advanceTimersByTime(4_999);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect((await stat(join(path, name))).mtimeMs).toBe(1000);
      vi.advanceTimersByTime(1);
      while ((await stat(join(path, name))).mtimeMs === 1000) await new Promise(setImmediate);
    });
  });

  test('finds out that it lost the lock, and does not remove its successor’s', async () => {
    const { path } = await newLock();
    const lost = withFileLock(path, async (lock) => {
      await lock.check();
      const [name = ''] = await readdir(path);
      await rmdir(join(path, name));
      await holdAs(path, { pid: 1, host: 'elsewhere+0' });
      await lock.check();
    });
    expect(await thrownBy(lost)).toMatchObject({
      code: 'locked',
      message: expect.stringContaining('was lost'),
    });
    expect(await readdir(path)).toEqual([expect.stringContaining('elsewhere')]);
  });

  test('of an unknown kind counts as living until it has been silent', async () => {
    const { path } = await newLock();
    await mkdir(join(path, 'something'), { recursive: true });
    expect(await thrownBy(withFileLock(path, async () => {}, { timeoutMs: 0 }))).toMatchObject({
      code: 'locked',
    });
    await utimes(join(path, 'something'), 1, 1);
    expect(await withFileLock(path, async () => 'mine', { timeoutMs: 0 })).toBe('mine');
  });
});

test.each<[string, (path: string) => Promise<unknown>]>([
  ['a file in its place', (path) => writeFile(path, 'x')],
  ['a link in its place', (path) => symlink('nowhere', path)],
  [
    'a file in the place of a holder',
    async (path) => {
      await mkdir(path);
      await writeFile(join(path, 'x'), '');
    },
  ],
  [
    'a silent holder with something in it',
    async (path) => {
      await mkdir(join(path, 'holder'), { recursive: true });
      await writeFile(join(path, 'holder', 'keep'), '');
      await utimes(join(path, 'holder'), 1, 1);
    },
  ],
])('a lock that a repository brings holds nobody up: %s', async (_, plant) => {
  const { path } = await newLock();
  await mkdir(dirname(path), { recursive: true });
  await plant(path);
  expect(await withFileLock(path, async () => 'mine', { timeoutMs: 1_000 })).toBe('mine');
  expect(await withFileLock(path, async () => 'again', { timeoutMs: 0 })).toBe('again');
});

test('what a process left that died while it prepared a lock is removed', async () => {
  const { path } = await newLock();
  await holdAs(`${path}.${TOKEN}`, { started: '1' });
  await mkdir(`${path}-2.${TOKEN}`);
  await withFileLock(path, async () => {});
  expect(await readdir(dirname(path))).toEqual([]);
});

test('a directory that cannot be written is reported as such', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'file'), '');
  const refused = await thrownBy(withFileLock(join(directory, 'file', 'a.lock'), async () => {}));
  expect(refused).toMatchObject({ name: 'WorkspaceError', code: 'invalid_path' });
});
