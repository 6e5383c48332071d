import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eraseUser, SessionKey } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { commitAt } from '@x/test-support';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RedisSession } from '../src/index.js';
import { keysOf } from '../src/redis-keys.js';
import { collect, messages, testStore } from './support/test-store.js';

const add = { expectedVersion: 'latest', head: {}, keep: 0, append: messages(1) } as const;
const alice = { userId: 'alice' };

describe('list', () => {
  it('merges users and sessions without one by time, over more than a page', async () => {
    const { store } = testStore();
    const keys = Array.from({ length: 450 }, (_, index) =>
      SessionKey.of(
        index % 3 === 0 ? `s-${index}` : { userId: `user-${index % 50}`, sessionId: `s-${index}` },
      ),
    );
    await Promise.all(keys.map((key) => commitAt(store, key, add)));
    const infos = await collect(store.list());
    expect(infos.map(({ key }) => `${key}`).sort()).toEqual(keys.map(String).sort());
    const times = infos.map(({ updatedAt }) => updatedAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  it('reads a page in requests whose number does not grow with the sessions', async () => {
    const { client, store } = testStore();
    const requests = vi.spyOn(client, 'sendCommand');
    const cost = async (sessions: number) => {
      for (let index = 0; index < sessions; index++) {
        await commitAt(store, SessionKey.of({ ...alice, sessionId: `${sessions}-${index}` }), add);
      }
      requests.mockClear();
      expect(await collect(store.list(alice, { limit: 10 }))).toHaveLength(10);
      return requests.mock.calls.length;
    };
    const few = await cost(20);
    expect(few).toBeGreaterThan(0);
    expect(await cost(300)).toBeLessThanOrEqual(few + 2);
  });

  it('takes out what has expired, and leaves nothing behind when all has', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 60 });
    const [first, second] = ['s-1', 's-2'].map((sessionId) => SessionKey.of({ ...alice, sessionId }));
    for (const key of [first, second]) await commitAt(store, key as SessionKey, add);
    const { session, messages: list, indexes } = keysOf(keyPrefix, first as SessionKey);
    await client.del(session, list);
    expect((await collect(store.list())).map(({ key }) => `${key}`)).toEqual([`${second}`]);
    for (const index of indexes) expect(await client.zrange(index, 0, '-1')).toEqual([`${second}`]);
    await store.delete(second as SessionKey);
    expect(await client.keys(`${keyPrefix}*`)).toEqual([]);
  });

  it.each([
    ['another format', 'session_newer', 'hset', ['format', '2'], 'format'],
    [
      'a state that is none',
      'session_corrupt',
      'hset',
      ['state', 'garbage'],
      'its field "state" is missing or invalid',
    ],
    [
      'a state of another time',
      'session_corrupt',
      'hset',
      ['state', '1 1 1 5 o '],
      'its timestamp differs from the index',
    ],
    ['no state', 'session_corrupt', 'hdel', ['state'], 'it is incomplete'],
    ['no hash', 'session_corrupt', 'del', [], 'it is incomplete'],
    ['a hash of another type', 'session_corrupt', 'set', ['text'], 'Redis'],
  ] as const)('reports a session with %s after all others', async (_, code, command, values, text) => {
    const { client, keyPrefix, store } = testStore();
    const keys = ['a', 'b', 'c'].map((sessionId) => SessionKey.of({ ...alice, sessionId }));
    for (const key of keys) await commitAt(store, key, add);
    const [first, damaged, last] = keys as [SessionKey, SessionKey, SessionKey];
    await client.call(command, keysOf(keyPrefix, damaged).session, ...values);
    const { found, error } = await listed(store);
    expect(error).toMatchObject({ code, sessionKey: `${damaged}`, message: expect.stringContaining(text) });
    expect(found).toEqual([`${last}`, `${first}`]);
    const directory = mkdtempSync(join(tmpdir(), 'x-listing-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const storage = new LocalWorkspace(directory);
    await eraseUser({ session: store, storage }, alice).catch((thrown) =>
      expect(thrown).toMatchObject({ code }),
    );
    await store.delete(damaged);
    expect(await client.keys(`${keyPrefix}*`)).toEqual([]);
  });

  it('reports every session that cannot be read once, also over pages', async () => {
    const { client, keyPrefix, store } = testStore();
    const keys = Array.from({ length: 450 }, (_, index) =>
      SessionKey.of({ ...alice, sessionId: `s-${index}` }),
    );
    await Promise.all(keys.map((key) => commitAt(store, key, add)));
    const isDamaged = (index: number) => index % 2 === 0;
    for (const [index, key] of keys.entries())
      if (isDamaged(index)) await client.hset(keysOf(keyPrefix, key).session, 'format', 2);
    const { found, error } = await listed(store);
    expect(found.sort()).toEqual(
      keys
        .filter((_, index) => !isDamaged(index))
        .map(String)
        .sort(),
    );
    expect(error).toMatchObject({ code: 'session_newer', cause: { errors: { length: 225 } } });
    expect(await collect(store.list({}, { limit: 225 }))).toHaveLength(225);
  });

  it('reports an entry that names no session', async () => {
    const { client, keyPrefix, store } = testStore();
    const key = SessionKey.of({ ...alice, sessionId: 's' });
    await commitAt(store, key, add);
    for (const index of keysOf(keyPrefix, key).indexes) await client.zadd(index, 1, 'no key');
    const { found, error } = await listed(store);
    expect(found).toEqual([`${key}`]);
    expect(error).toMatchObject({ code: 'session_corrupt', message: expect.stringContaining('"no key"') });
  });

  it('loses no user to commits, deletes and listings at the same time', async () => {
    const { store } = testStore();
    const key = SessionKey.of({ ...alice, sessionId: 's' });
    for (let round = 0; round < 20; round++) {
      await Promise.all([
        store.delete(key),
        commitAt(store, key, add),
        collect(store.list()),
        store.delete(key),
      ]);
      await Promise.all([commitAt(store, key, add), collect(store.list()), collect(store.list())]);
      expect(await collect(store.list())).toHaveLength(1);
    }
  });
});

/** The keys that a store lists, and the error with which the listing ends. */
async function listed(store: RedisSession) {
  const found: string[] = [];
  try {
    for await (const { key } of store.list(alice)) found.push(`${key}`);
  } catch (error) {
    return { found, error };
  }
  return { found, error: undefined };
}
