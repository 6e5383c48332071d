import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteOlderThan, eraseUser, SessionKey, userMessage } from '@x/core';
import { thisProcess } from '@x/core/internal';
import { LocalWorkspace } from '@x/core/node';
import { operationId } from '@x/core/store';
import { claimOf, takeLease } from '@x/test-support';
import { expect, it, onTestFinished } from 'vitest';
import { SqliteSession } from '../src/index.js';

it('leaves no byte of a deleted session in its file once it is closed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'x-erased-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'sessions.db');
  const store = new SqliteSession({ file, synchronous: 'normal' });
  const keys = Array.from({ length: 4 }, (_, index) =>
    SessionKey.of({ userId: `u${index}`, sessionId: 's' }),
  );
  const written = keys.map(() => ({ count: 0, token: undefined as string | undefined }));
  // A course, found by trying, in which SQLite joins pages of sessions that go one after the other.
  let state = 21 * 7919;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (state >> 8) % below;
  };
  random(8);
  for (let turn = 0; turn < 150; turn++) {
    const index = random(4);
    const [key, session] = [keys[index], written[index]];
    if (key === undefined || session === undefined) throw new Error('no such session');
    const append = Array.from({ length: 1 + random(4) }, () => {
      const size = random(6) === 0 ? random(9_000) : random(300);
      return userMessage(`${index > 0 ? 'canary' : 'harmless'} ${'x'.repeat(size)}`);
    });
    const operation = operationId();
    await store.commit(key, { operation, expected: session.token, head: {}, keep: session.count, append });
    session.token = operation;
    session.count += append.length;
  }
  for (const key of keys.slice(1)) expect(await store.delete(key)).toBe(true);
  await store.close();
  const left = readFileSync(file).toString('latin1');
  expect(left.includes('harmless')).toBe(true);
  expect(left.includes('canary')).toBe(false);
});

it.each<[string, (store: SqliteSession, key: SessionKey) => Promise<unknown>]>([
  ['is deleted', (store, key) => store.delete(key)],
  ['has aged', (store) => deleteOlderThan(store, { olderThan: new Date(Date.now() + 60_000) })],
])('leaves no byte of a session that %s in the log of writes, while it is open', async (_, erase) => {
  const directory = mkdtempSync(join(tmpdir(), 'x-erased-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'sessions.db');
  const store = new SqliteSession({ file });
  onTestFinished(() => store.close());
  const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
  const append = [userMessage('canary')];
  await store.commit(key, { operation: operationId(), expected: undefined, head: {}, keep: 0, append });
  const written = () => ['', '-wal'].filter((end) => readFileSync(`${file}${end}`).includes('canary'));
  expect(written()).toContain('-wal');
  await erase(store, key);
  expect(written()).toEqual([]);
});

it('writes the file anew when it is closed, also after the deletion of a record in a collection', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'x-erased-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'sessions.db');
  const store = new SqliteSession({ file });
  const key = SessionKey.of('s');
  const append = [userMessage('canary '.repeat(100_000))];
  const chats = store.collection('chats');
  await chats.commit(key, { operation: operationId(), expected: undefined, head: {}, keep: 0, append });
  expect(await chats.delete(key)).toBe(true);
  await store.close();
  expect(statSync(file).size).toBeLessThan(100_000);
});

/** A claim of a process that this host knows has ended. */
const dead = { ...claimOf(), ...thisProcess(), started: '1' };

const first = () => ({
  operation: operationId(),
  expected: undefined,
  head: {},
  keep: 0,
  append: [userMessage('Hi')],
});

it.each<[string, (store: SqliteSession, key: SessionKey) => Promise<void>]>([
  [
    'was never stored',
    async (store, key) => {
      const lease = await takeLease(store, key);
      await lease?.release();
    },
  ],
  [
    'was never stored by a process that died',
    async (store, key) => {
      await takeLease(store, key, { claim: dead });
    },
  ],
  [
    'was deleted by its age',
    async (store, key) => {
      const lease = await takeLease(store, key);
      await store.commit(key, { ...first(), fence: lease?.fence });
      await lease?.release();
      expect(await deleteOlderThan(store, { olderThan: new Date(Date.now() + 60_000) })).toBe(1);
    },
  ],
  [
    'was deleted by its age after its holder died',
    async (store, key) => {
      await takeLease(store, key, { claim: dead });
      await store.commit(key, first());
      expect(await deleteOlderThan(store, { olderThan: new Date(Date.now() + 60_000) })).toBe(1);
    },
  ],
])('leaves no key of a session that %s in its file', async (_, live) => {
  const directory = mkdtempSync(join(tmpdir(), 'x-erased-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'sessions.db');
  const store = new SqliteSession({ file });
  const key = SessionKey.of({ userId: 'alice', sessionId: 's1' });
  await live(store, key);
  const storage = new LocalWorkspace(mkdtempSync(join(tmpdir(), 'x-erased-')));
  expect(await eraseUser({ session: store, storage }, { userId: 'alice' })).toMatchObject({ sessions: 0 });
  await store.close();
  expect(readFileSync(file).includes('/alice//s1')).toBe(false);
});

it('keeps the lease of another holder, and what it is ordered by', async () => {
  const store = new SqliteSession({ file: ':memory:' });
  onTestFinished(() => store.close());
  const [held, other] = [SessionKey.of('held'), SessionKey.of('other')];
  const lease = await takeLease(store, held);
  const early = await takeLease(store, other);
  await store.commit(other, first());
  await early?.release();
  await store.delete(other);
  await deleteOlderThan(store, { olderThan: new Date(Date.now() + 60_000) });
  expect(await lease?.confirm()).toBe(true);
  const late = await takeLease(store, other);
  expect(late?.fence).toBeGreaterThan(early?.fence ?? 0);
  const change = { ...first(), fence: early?.fence };
  await expect(store.commit(other, change)).rejects.toMatchObject({ code: 'lease_lost' });
});
