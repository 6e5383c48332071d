import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  copyStore,
  InMemorySession,
  observeStore,
  SessionKey,
  type SessionStore,
} from '../../../src/index.js';
import type { StoreOperation } from '../../../src/internal.js';
import { takeTurn } from '../../../src/internal.js';
import { JsonSession } from '../../../src/node.js';
import { wrapStore } from '../../../src/store.js';
import { commitAt } from '../../commit-at.js';
import { numbered } from '../../numbered.js';
import { takeLease } from '../../take-lease.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
const change = {
  head: { title: 'My secret title', metadata: { topic: 'secret' } },
  keep: 0,
  append: numbered(3),
};

test('a copy keeps tokens, may be repeated, overwrites nothing, and moves what nobody is working on', async () => {
  const [from, to] = [new InMemorySession(), new InMemorySession()];
  const keys = ['a', 'b', 'c'].map((sessionId) => SessionKey.of({ userId: 'alice', sessionId })) as [
    SessionKey,
    SessionKey,
    SessionKey,
  ];
  for (const each of keys) await commitAt(from, each, { expectedVersion: 0, ...change });
  await commitAt(to, keys[2], { expectedVersion: 0, head: { own: true }, keep: 0, append: [] });
  expect(await copyStore(from, to)).toEqual({
    copied: 2,
    unchanged: 0,
    conflicts: [{ key: keys[2] }],
    busy: [],
  });
  expect(await copyStore(from, to)).toMatchObject({ copied: 0, unchanged: 2 });
  const order: unknown[] = [];
  const commit = async (each: SessionKey) => order.unshift(each);
  await copyStore(from, Object.assign(new InMemorySession(), { commit }));
  expect(order).toEqual((await all(from.list())).map((info) => info.key));
  expect(await to.load(keys[0])).toMatchObject({
    token: (await from.load(keys[0]))?.token,
    ...shown(change),
  });
  expect((await to.load(keys[2]))?.head).toEqual({ own: true });
  const turn = await takeTurn(from, keys[1]);
  expect(await copyStore(from, to, { move: true })).toMatchObject({ unchanged: 1, busy: [{ key: keys[1] }] });
  expect((await all(from.list())).map(({ key: left }) => `${left}`).sort()).toEqual([
    `${keys[1]}`,
    `${keys[2]}`,
  ]);
  await turn.release();
});

test('a move takes along what is committed meanwhile without a lease, and deletes nothing that it has not copied', async () => {
  const [from, target] = [new InMemorySession(), new InMemorySession()];
  await commitAt(from, key, { expectedVersion: 0, ...change });
  const late = { expectedVersion: 1, head: {}, keep: 3, append: numbered(1, 'late') };
  let isLate = true;
  const to = Object.assign(Object.create(target), {
    async commit(...args: Parameters<SessionStore['commit']>) {
      const version = await target.commit(...args);
      if (isLate) await commitAt(from, key, late);
      isLate = false;
      return version;
    },
    load: target.load.bind(target),
  });
  expect(await copyStore(from, to, { move: true })).toMatchObject({ copied: 1, conflicts: [], busy: [] });
  expect(await from.load(key)).toBeUndefined();
  expect((await target.load(key))?.messages).toEqual([...numbered(3), ...numbered(1, 'late')]);
});

test('a move onto itself moves nothing, by whatever name the store is known', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'move-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const [files, same] = [new JsonSession({ directory }), new JsonSession({ directory })];
  const memory = new InMemorySession();
  const { leases: _, collection: __, collections: ___, ...bare } = wrapStore(memory, {});
  for (const [from, to] of [
    [memory, memory],
    [observeStore(bare, () => {}), bare],
    [observeStore(bare, () => {}), memory],
    [memory, bare],
    [files, same],
    [files, observeStore(same, () => {})],
  ] as const) {
    await commitAt(from, key, { expectedVersion: 0, ...change }).catch(() => undefined);
    expect(await copyStore(from, to, { move: true })).toMatchObject({ copied: 0, busy: [{ key }] });
    expect((await from.load(key))?.messages).toEqual(numbered(3));
    expect(await all(from.list())).toHaveLength(1);
  }
});

test('a move between two stores without leases may be repeated', async () => {
  const [from, to] = [new InMemorySession(), new InMemorySession()].map((store) => {
    const { leases: _, collection: __, collections: ___, ...bare } = wrapStore(store, {});
    return bare;
  }) as [SessionStore, SessionStore];
  await commitAt(from, key, { expectedVersion: 0, ...change });
  expect(await copyStore(from, to)).toMatchObject({ copied: 1 });
  expect(await copyStore(from, to, { move: true })).toMatchObject({ unchanged: 1, busy: [] });
  expect(await all(from.list())).toEqual([]);
  expect((await all(to.list())).map((info) => info.key)).toEqual([key]);
});

test('a move to a store that cannot take all moves nothing', async () => {
  const from = new InMemorySession();
  for (const records of [from, from.collection('chats')])
    await commitAt(records, key, { expectedVersion: 0, ...change });
  const { collection: _, collections: __, ...to } = wrapStore(new InMemorySession(), {});
  await expect(copyStore(from, to, { move: true })).rejects.toMatchObject({ code: 'capability_missing' });
  expect(await all(from.list())).toHaveLength(1);
  expect(await all(to.list())).toEqual([]);
});

test('operations are told with their outcome', async () => {
  const seen: StoreOperation[] = [];
  const store = observeStore(new InMemorySession(), (ended) => seen.push(ended));
  await commitAt(store, key, { expectedVersion: 0, ...change });
  await commitAt(store, key, { expectedVersion: 0, ...change }).catch(() => {});
  await takeLease(store, key);
  await takeLease(store, key);
  await all(store.list({}, { limit: 1 }));
  expect(seen.map(({ operation, outcome }) => `${operation} ${outcome}`)).toEqual([
    'commit ok',
    'commit session_conflict',
    'leases.take ok',
    'leases.take held',
    'list ok',
  ]);
  for (const { durationMs } of seen) expect(durationMs).toBeGreaterThanOrEqual(0);
});

test('an observer that fails costs a warning, never the operation', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => warned.mockRestore());
  const failing = (async () => {
    throw new Error('a bug');
  }) as () => void;
  const store = observeStore(new InMemorySession(), failing);
  expect(await commitAt(store, key, { expectedVersion: 0, ...change })).toBe(1);
  expect(warned.mock.calls).toEqual([['observeStore threw: a bug']]);
});

function shown({ head, append }: typeof change) {
  return { head, messages: append };
}

async function all(infos: ReturnType<SessionStore['list']>) {
  const found = [];
  for await (const info of infos) found.push(info);
  return found;
}
