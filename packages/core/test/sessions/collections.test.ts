import { expect, test } from 'vitest';
import {
  copyStore,
  deleteOlderThan,
  eraseSession,
  eraseUser,
  exportUser,
  InMemorySession,
  observeStore,
  type SessionInfo,
  SessionKey,
  type SessionStore,
  StreamLog,
  storageOf,
} from '../../src/index.js';
import { agentFiles, collectionOf, takeTurn } from '../../src/internal.js';
import { LocalWorkspace, WorkspaceSession } from '../../src/node.js';
import { wrapStore } from '../../src/store.js';
import { commitAt } from '../commit-at.js';
import { numbered } from '../numbered.js';
import { temporaryDirectory } from '../temporary-directory.js';

const alice = SessionKey.of({ userId: 'alice', agentId: 'coder', sessionId: 's' });
const bob = SessionKey.of({ userId: 'bob', agentId: 'coder', sessionId: 's' });
const first = { expectedVersion: 0, head: { title: 'Secret' }, keep: 0, append: numbered(2) };

/** A store whose sessions and chats both have records of both users. */
async function filled<Store extends SessionStore>(store: Store): Promise<Store> {
  for (const records of [store, collectionOf(store, 'chats')])
    for (const key of [alice, bob]) await commitAt(records, key, first);
  return store;
}

async function keysIn(records: SessionStore): Promise<readonly string[]> {
  const infos: SessionInfo[] = [];
  for await (const info of records.list()) infos.push(info);
  return infos.map(({ key }) => `${key}`).sort();
}

const emptyStorage = async () => storageOf(new LocalWorkspace(await temporaryDirectory()));

test('what is kept of a user in a collection is exported, and erased with the user alone', async () => {
  const session = await filled(new InMemorySession());
  const places = { session, storage: await emptyStorage() };
  const exported: unknown[] = [];
  for await (const record of exportUser(places, { userId: 'alice' })) exported.push(record);
  expect(exported).toEqual([
    { type: 'session', key: alice.parts, head: first.head, messages: first.append },
    { type: 'session', collection: 'chats', key: alice.parts, head: first.head, messages: first.append },
  ]);
  const turn = await takeTurn(session.collection('chats'), alice);
  expect(await eraseUser(places, { userId: 'alice' })).toEqual({
    sessions: 1,
    files: 0,
    busy: [{ key: alice, collection: 'chats' }],
  });
  await turn.release();
  expect(await eraseUser(places, { userId: 'alice' })).toEqual({ sessions: 1, files: 0, busy: [] });
  for (const records of [session, session.collection('chats')])
    expect(await keysIn(records)).toEqual([`${bob}`]);
});

test('a session is erased with the records of its key, and with those of its subagents', async () => {
  const session = await filled(new InMemorySession());
  const child = SessionKey.of({ userId: 'alice', agentId: 'coder/steer', sessionId: 's/steer' });
  await commitAt(session.collection('orders'), child, first);
  const erased = await eraseSession({ session, storage: undefined }, alice);
  expect(erased).toEqual({ sessions: 3, files: 0 });
  expect(await keysIn(session.collection('orders'))).toEqual([]);
  expect(await keysIn(session.collection('chats'))).toEqual([`${bob}`]);
});

test('a retention deletes sessions and records by their age, up to a limit', async () => {
  const store = await filled(new InMemorySession());
  const olderThan = new Date(Date.now() + 60_000);
  expect(await deleteOlderThan(store, { olderThan, limit: 3 })).toBe(3);
  expect(await keysIn(store)).toEqual([]);
  expect(await keysIn(store.collection('chats'))).toHaveLength(1);
  expect(await deleteOlderThan(store, { olderThan: new Date(0) })).toBe(0);
});

test('a copy takes collections along, and refuses a target that has none', async () => {
  const from = await filled(new InMemorySession());
  const to = new InMemorySession();
  expect(await copyStore(from, to)).toMatchObject({ copied: 4, unchanged: 0 });
  expect(await copyStore(from, to)).toMatchObject({ copied: 0, unchanged: 4 });
  const { token } = (await from.collection('chats').load(alice)) ?? {};
  expect(await to.collection('chats').load(alice)).toMatchObject({ token, messages: first.append });
  const { collection: _, collections: __, ...bare } = wrapStore(new InMemorySession(), {});
  await expect(copyStore(from, bare)).rejects.toMatchObject({ code: 'capability_missing' });
  expect(await copyStore(new InMemorySession(), bare)).toMatchObject({ copied: 0 });
});

test('who needs a collection refuses a store without any, and says which stores have them', () => {
  const { collection: _, ...bare } = wrapStore(new InMemorySession(), {});
  expect(() => new StreamLog(bare, alice)).toThrow(
    expect.objectContaining({
      code: 'capability_missing',
      message: expect.stringMatching(/"streams".*PostgresSession/),
    }),
  );
});

test('a wrapper wraps the collections, too', async () => {
  const seen: unknown[] = [];
  const observed = observeStore(new InMemorySession(), ({ operation, collection }) =>
    seen.push([operation, collection]),
  );
  await commitAt(collectionOf(observed, 'chats'), alice, first);
  expect(seen).toContainEqual(['commit', 'chats']);
});

test('files of a collection are among the files of no agent, and outlive a session of any name', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  const storage = storageOf(workspace);
  const session = await filled(new WorkspaceSession(storage));
  const files = agentFiles(alice, { workspace, storage, isolation: 'user' });
  const path = 'collections/chats/users/alice/agents/coder/context/s/head.json';
  expect(await storage.stat(path)).toBeDefined();
  for (const each of [path, path.toUpperCase()])
    await expect(files.read(each), each).rejects.toMatchObject({ code: 'not_found' });
  // A session that has the name of a folder.
  await eraseSession({ session, storage }, SessionKey.of({ ...alice.parts, sessionId: 'context' }));
  expect(await keysIn(session.collection('chats'))).toEqual([`${alice}`, `${bob}`].sort());
});
