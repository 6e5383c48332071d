import { expect, it } from 'vitest';
import {
  copyStore,
  deleteOlderThan,
  eraseSession,
  forkSession,
  InMemorySession,
  keepHistory,
  keyBeside,
  openSession,
  SessionKey,
  type StoredSession,
  userMessage,
} from '../../../src/index.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's' });

async function write(store: InMemorySession | ReturnType<typeof keepHistory>, turns: number): Promise<void> {
  const session = await openSession(store, key);
  for (let turn = 0; turn < turns; turn++) {
    session.state.contextMutable().push(userMessage('Hi'));
    await session.commit();
  }
}

it('keeps so many states at least, and a bounded number of them', async () => {
  const inner = new InMemorySession();
  const store = keepHistory(inner, { versions: 3 });
  await write(store, 20);
  const versions: number[] = [];
  for await (const { version, messages } of store.history(key)) {
    expect(messages).toHaveLength(version);
    versions.push(version);
  }
  expect(versions.slice(0, 3)).toEqual([20, 19, 18]);
  expect(versions.length).toBeLessThan(8);
  expect(() => keepHistory(inner, { versions: 0 })).toThrow('versions');
});

it('keeps the versions of a session that was moved, and gives a fork nobody’s identity but its own', async () => {
  const [from, to] = [new InMemorySession(), new InMemorySession()];
  await write(keepHistory(from), 3);
  await copyStore(from, to);
  const versions: number[] = [];
  for await (const { version } of keepHistory(to).history(key)) versions.push(version);
  expect(versions).toEqual([1, 2, 1]);
  const stored = (await to.load(key)) as StoredSession;
  await forkSession(to, stored, SessionKey.of('fork'));
  const head = (await to.load(SessionKey.of('fork')))?.head;
  expect(head).toMatchObject({ sessionId: 'fork' });
  expect(head).not.toHaveProperty('userId');
});

it('is copied into a store that keeps it, too, once, and goes on there', async () => {
  const [from, inner] = [new InMemorySession(), new InMemorySession()];
  const to = keepHistory(inner);
  await write(keepHistory(from), 3);
  expect(await copyStore(from, to)).toMatchObject({ copied: 1, conflicts: [] });
  expect(await copyStore(from, to)).toMatchObject({ unchanged: 1, conflicts: [] });
  await write(to, 1);
  const states: number[] = [];
  for await (const { messages } of to.history(key)) states.push(messages.length);
  expect(states).toEqual([4, 3, 2, 1]);
  const kept: string[] = [];
  for await (const info of inner.list({}, { all: true })) kept.push(`${info.key}`);
  expect(kept.sort()).toEqual([`${keyBeside(key, 'history')}`, `${key}`]);
});

it('keeps what a compaction takes away message by message, as no backend stores one of any size', async () => {
  const inner = new InMemorySession();
  const store = keepHistory(inner);
  const session = await openSession(store, key);
  const context = session.state.contextMutable();
  for (let turn = 0; turn < 5; turn++) context.push(userMessage('a'.repeat(1000)));
  await session.commit();
  const before = [...context];
  context.splice(0, 5, userMessage('short'));
  await session.commit();
  const states: unknown[] = [];
  for await (const { messages } of store.history(key)) states.push(messages);
  expect(states).toEqual([[...context], before]);
  const log = await inner.load(keyBeside(key, 'history'));
  expect(Math.max(...(log?.messages.map((message) => JSON.stringify(message).length) ?? []))).toBeLessThan(
    2000,
  );
});

it('moves and ends with its session, and stays while somebody has the turn of that', async () => {
  const [from, to] = [new InMemorySession(), new InMemorySession()];
  const statesIn = async (store: InMemorySession) => {
    const states: number[] = [];
    for await (const { messages } of keepHistory(store).history(key)) states.push(messages.length);
    return states;
  };
  await write(keepHistory(from), 3);
  const olderThan = new Date(Date.now() + 60_000);
  const lease = await from.lease(key, { ttlMs: 60_000 });
  expect(await copyStore(from, to, { move: true })).toMatchObject({ copied: 0, busy: [key] });
  expect(await deleteOlderThan(from, { olderThan })).toBe(0);
  expect(await statesIn(from)).toEqual([3, 2, 1]);
  await lease?.release();
  // Also where the source deletes what it kept of a session with it.
  expect(await copyStore(keepHistory(from), to, { move: true })).toMatchObject({ copied: 1, conflicts: [] });
  expect(await statesIn(to)).toEqual([3, 2, 1]);
  expect(await statesIn(from)).toEqual([]);
  expect(await deleteOlderThan(to, { olderThan, limit: 1 })).toBe(1);
  for await (const info of to.list({}, { all: true })) expect(info).toBeUndefined();
});

it('begins with a session that was there before, and goes with it', async () => {
  const inner = new InMemorySession();
  await write(inner, 2);
  const store = keepHistory(inner);
  await write(store, 2);
  const states: number[] = [];
  for await (const { messages } of store.history(key)) states.push(messages.length);
  expect(states).toEqual([4, 3]);
  expect(await eraseSession({ session: inner, storage: undefined }, key)).toEqual({ sessions: 2, files: 0 });
});

it('stays when a session is erased whose id is the beginning of its own', async () => {
  const inner = new InMemorySession();
  const store = keepHistory(inner);
  const keys = ['a', 'a/b/c'].map((sessionId) => SessionKey.of({ agentId: 'coder', sessionId }));
  for (const each of keys) {
    const session = await openSession(store, each);
    session.state.contextMutable().push(userMessage('Hi'));
    await session.commit();
  }
  const [short, long] = keys as [SessionKey, SessionKey];
  expect(await eraseSession({ session: inner, storage: undefined }, short)).toEqual({
    sessions: 2,
    files: 0,
  });
  const left: string[] = [];
  for await (const info of inner.list({}, { all: true })) left.push(`${info.key}`);
  expect(left.sort()).toEqual([`${keyBeside(long, 'history')}`, `${long}`].sort());
});
