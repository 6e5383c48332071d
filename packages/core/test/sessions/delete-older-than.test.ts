import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  deleteOlderThan,
  InMemorySession,
  SessionKey,
  type SessionStore,
  userMessage,
} from '../../src/index.js';
import { takeTurn } from '../../src/internal.js';
import { JsonSession, LocalWorkspace, WorkspaceSession } from '../../src/node.js';
import { commitAt } from '../commit-at.js';
import { temporaryDirectory } from '../temporary-directory.js';
import { thrownBy } from '../thrown-by.js';

const keyOf = (userId: string, sessionId: string) => SessionKey.of({ userId, sessionId });

async function commit(store: SessionStore, key: SessionKey): Promise<number> {
  await commitAt(store, key, { expectedVersion: 'latest', head: {}, keep: 0, append: [userMessage('Hi')] });
  return Date.parse((await store.load(key))?.updatedAt ?? '');
}

/** Three old sessions, and the moment at which the first of two new ones was stored. */
async function fill(store: SessionStore): Promise<Date> {
  let last = 0;
  for (const [user, id] of ['alice/1', 'alice/2', 'bob/1', 'alice/new', 'bob/new'].map((it) =>
    it.split('/'),
  )) {
    // So that no two have the same time.
    while (Date.now() <= last) await setImmediate();
    last = await commit(store, keyOf(user as string, id as string));
  }
  return new Date(Date.parse((await store.load(keyOf('alice', 'new')))?.updatedAt ?? ''));
}

async function left(store: SessionStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list()) keys.push(`${key.parts.userId}/${key.parts.sessionId}`);
  return keys.sort();
}

describe.each<[string, () => Promise<SessionStore>]>([
  ['InMemorySession', async () => new InMemorySession()],
  ['JsonSession', async () => new JsonSession({ directory: await temporaryDirectory() })],
  ['WorkspaceSession', async () => new WorkspaceSession(new LocalWorkspace(await temporaryDirectory()))],
])('deleteOlderThan of %s', (_, create) => {
  test('deletes what is older, within a scope and up to a limit', async () => {
    const store = await create();
    const olderThan = await fill(store);
    expect(await deleteOlderThan(store, { olderThan, limit: 0 })).toBe(0);
    expect(await deleteOlderThan(store, { olderThan, scope: { userId: 'bob' } })).toBe(1);
    expect(await deleteOlderThan(store, { olderThan, limit: 1 })).toBe(1);
    expect(await left(store)).toHaveLength(3);
    expect(await deleteOlderThan(store, { olderThan })).toBe(1);
    expect(await deleteOlderThan(store, { olderThan })).toBe(0);
    expect(await left(store)).toEqual(['alice/new', 'bob/new']);
  });

  test('leaves a session whose turn is running, and one that was used since it was listed', async () => {
    const store = await create();
    const olderThan = await fill(store);
    const turn = await takeTurn(store, keyOf('alice', '1'));
    const remove = store.delete.bind(store);
    store.delete = async (key, options) => {
      if (key.equals(keyOf('alice', '2'))) await commit(store, key);
      return remove(key, options);
    };
    expect(await deleteOlderThan(store, { olderThan })).toBe(1);
    expect(await left(store)).toEqual(['alice/1', 'alice/2', 'alice/new', 'bob/new']);
    await turn.release();
  });
});

test('deleteOlderThan leaves what cannot be read as it is, and says so when all others are gone', async () => {
  const directory = await temporaryDirectory();
  const store = new JsonSession({ directory });
  const olderThan = await fill(store);
  const heads = async () =>
    (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('/head.json'));
  const damaged = (await heads()).find((name) => name.endsWith('/1/head.json')) ?? '';
  await writeFile(join(directory, damaged), '{"torn');
  expect(await thrownBy(deleteOlderThan(store, { olderThan }))).toMatchObject({ code: 'session_corrupt' });
  expect(await heads()).toHaveLength(3);
  expect(await heads()).toContain(damaged);
  const error = await thrownBy(deleteOlderThan(store, { olderThan: 'yesterday' as never }));
  expect(error.message).toContain('olderThan');
  const misspelled = thrownBy(deleteOlderThan(store, { olderThan, scope: { user: 'alice' } as never }));
  expect((await misspelled).message).toContain('scope.user: unknown key');
});
