import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteOlderThan, SessionKey, type SessionStore, userMessage } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { operationId } from '@x/core/store';
import { expect, it, onTestFinished } from 'vitest';
import { SqliteSession } from '../src/index.js';

/** Mounts a disk of 8 MiB; whether this process may. */
function mountSmallDisk(directory: string): boolean {
  const mount = ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', directory];
  return spawnSync('mount', mount, { stdio: 'ignore' }).status === 0;
}

function unmount(directory: string): void {
  spawnSync('umount', ['-l', directory]);
  rmdirSync(directory);
}

function canMount(): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'x-small-disk-'));
  const mounted = mountSmallDisk(directory);
  unmount(directory);
  return mounted;
}

/** Commits messages of 20 KB to sessions in turns until one is refused, and returns how many were taken. */
async function fill(store: SessionStore): Promise<number> {
  const sessions = Array.from({ length: 4 }, (_, index) => ({
    key: SessionKey.of(`s-${index}`),
    expected: undefined as string | undefined,
    keep: 0,
  }));
  for (let turn = 0; ; turn++) {
    const session = sessions[turn % 4] as (typeof sessions)[number];
    const { key, expected, keep } = session;
    const operation = operationId();
    const append = [userMessage('x'.repeat(20_000))];
    try {
      await store.commit(key, { operation, expected, head: {}, keep, append });
    } catch (error) {
      expect(error).toMatchObject({ code: 'session_unavailable', outcome: 'none' });
      return turn;
    }
    Object.assign(session, { expected: operation, keep: keep + 1 });
  }
}

it.runIf(canMount()).each<[string, (store: SqliteSession) => Promise<unknown>, unknown]>([
  ['delete', (store) => store.delete(SessionKey.of('s-1')), true],
  ['retention', (store) => deleteOlderThan(store, { olderThan: new Date(Date.now() + 60_000), limit: 2 }), 2],
])('a full disk is freed by a %s, and sessions go on', async (_, free, answer) => {
  const directory = mkdtempSync(join(tmpdir(), 'x-small-disk-'));
  onTestFinished(() => unmount(directory));
  expect(mountSmallDisk(directory)).toBe(true);
  const store = new SqliteSession({ file: join(directory, 'sessions.db') });
  onTestFinished(() => store.close());
  expect(await fill(store)).toBeGreaterThan(20);
  // Until no byte is left.
  const page = Buffer.alloc(4096);
  expect(() => {
    for (;;) appendFileSync(join(directory, 'ballast'), page);
  }).toThrow('ENOSPC');
  expect(await free(store)).toBe(answer);
  const key = SessionKey.of('s-0');
  const { token, messages = [] } = (await store.load(key)) ?? {};
  for (let turn = 0, expected = token; turn < 20; turn++) {
    const operation = operationId();
    const append = [userMessage('x'.repeat(20_000))];
    await store.commit(key, { operation, expected, head: {}, keep: messages.length + turn, append });
    expected = operation;
  }
});

it.runIf(canMount())(
  'a disk that is full again and again is freed each time, also after reopening',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'x-small-disk-'));
    onTestFinished(() => unmount(directory));
    expect(mountSmallDisk(directory)).toBe(true);
    const file = join(directory, 'sessions.db');
    let store = new SqliteSession({ file });
    onTestFinished(() => store.close());
    for (let round = 0; round < 4; round++) {
      for (let name = 0; name < 4; name++) await store.delete(SessionKey.of(`s-${name}`));
      await fill(store);
      expect(await store.delete(SessionKey.of(`s-${round}`))).toBe(true);
      expect(existsSync(`${file}-reserve`)).toBe(true);
      if (round % 2 === 0) continue;
      await store.close();
      store = new SqliteSession({ file });
    }
  },
);

it.runIf(canMount())('a file or directory that has the name of the reserve is left alone', async () => {
  for (const isFile of [true, false]) {
    const directory = mkdtempSync(join(tmpdir(), 'x-small-disk-'));
    onTestFinished(() => unmount(directory));
    expect(mountSmallDisk(directory)).toBe(true);
    const file = join(directory, 'sessions.db');
    if (isFile) writeFileSync(`${file}-reserve`, 'mine');
    else mkdirSync(`${file}-reserve`);
    const store = new SqliteSession({ file });
    onTestFinished(() => store.close());
    await fill(store);
    const error = await store.delete(SessionKey.of('s-1')).catch((error: unknown) => error);
    if (error !== true) expect(error).toMatchObject({ code: 'session_unavailable', outcome: 'none' });
    if (isFile) expect(readFileSync(`${file}-reserve`, 'utf8')).toBe('mine');
    else expect(existsSync(`${file}-reserve`)).toBe(true);
  }
});

it('an empty reserve, whose process ended before it wrote, is made again', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'x-reserve-')), 'sessions.db');
  writeFileSync(`${file}-reserve`, '');
  await new SqliteSession({ file }).close();
  expect(statSync(`${file}-reserve`).size).toBe(2 * 256 * 4096);
});

it.runIf(canMount()).each(['closed', 'open'])(
  'a database on a disk that cannot be written to is read, also one that was %s when it was copied',
  async (state) => {
    const directory = mkdtempSync(join(tmpdir(), 'x-small-disk-'));
    mountSmallDisk(directory);
    onTestFinished(() => unmount(directory));
    const file = join(directory, 'sessions.db');
    const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
    const change = { operation: operationId(), expected: undefined, head: {}, keep: 0 };
    const append = [userMessage('kept')];
    const writer = new SqliteSession({ file: state === 'open' ? `${directory}/first.db` : file });
    await writer.commit(key, { ...change, append });
    if (state === 'open')
      for (const end of ['', '-wal']) copyFileSync(`${directory}/first.db${end}`, file + end);
    await writer.close();
    expect(spawnSync('mount', ['-o', 'remount,ro', directory]).status).toBe(0);
    const store = new SqliteSession({ file });
    expect((await store.load(key))?.messages).toEqual(append);
    for await (const { key: listed } of store.list({ userId: 'alice' })) expect(listed).toEqual(key);
    for (const write of [
      () =>
        store.commit(key, { ...change, operation: operationId(), expected: change.operation, append: [] }),
      () => store.delete(key),
      () => takeTurn(store, key),
    ])
      await expect(write()).rejects.toMatchObject({
        code: 'session_unavailable',
        outcome: 'none',
        message: expect.stringContaining(file),
      });
    await store.close();
  },
);
