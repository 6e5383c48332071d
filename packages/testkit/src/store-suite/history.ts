import {
  eraseUser,
  forkSession,
  keepHistory,
  keyBeside,
  openSession,
  operationId,
  SessionKey,
  type StoredSession,
  userMessage,
  type Workspace,
} from '@x/core';
import { expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { numbered } from './sample-messages.js';
import { listed, type StoreSuite } from './store-suite.js';

/** What each commit keeps and adds; the third takes away, as a compaction does. */
const COMMITS = [
  [0, numbered(2, 'a')],
  [2, numbered(1, 'b')],
  [1, numbered(1, 'c')],
  [2, numbered(1, 'd')],
] as const;
const head = { title: 'none' };

/** Earlier states of a session: see `keepHistory`. */
export function history(suite: StoreSuite): void {
  suite.test('earlier states are read, and one of them is gone on from in another session', async (store) => {
    const key = SessionKey.of({ userId: 'alice', agentId: 'coder', sessionId: 's' });
    const states: unknown[] = [];
    let expected: string | undefined;
    let messages: readonly unknown[] = [];
    for (const [index, [keep, append]] of COMMITS.entries()) {
      // Each by a process of its own, which knows nothing of what was before.
      const writer = keepHistory(store);
      const tooLate = { operation: operationId(), expected: 'another', head, keep, append };
      await expect(writer.commit(key, tooLate)).rejects.toMatchObject({ code: 'session_conflict' });
      const change = { operation: operationId(), expected, head: { title: `t${index}` }, keep, append };
      // Also sent again.
      for (let time = 0; time < 2; time++) expect(await writer.commit(key, change)).toBe(index + 1);
      expected = change.operation;
      messages = [...messages.slice(0, keep), ...append];
      states.unshift([index + 1, change.head, messages]);
    }
    const found: StoredSession[] = [];
    for await (const state of keepHistory(store).history(key)) found.push(state);
    expect(found.map((state) => [state.version, state.head, state.messages])).toEqual(states);

    const to = SessionKey.of({ userId: 'bob', sessionId: 'fork' });
    for (let time = 0; time < 2; time++) {
      expect(await forkSession(store, found[2] as StoredSession, to)).toBe(1);
    }
    await expect(forkSession(store, found[1] as StoredSession, to)).rejects.toMatchObject({
      code: 'session_conflict',
    });
    const forked = { head: { title: 't1', sessionId: 'fork', userId: 'bob' }, messages: found[2]?.messages };
    expect(await store.load(to)).toMatchObject(forked);

    const beside = keyBeside(key, 'history').toString();
    expect(await listed(store, { userId: 'alice' })).toEqual([key.toString()]);
    expect(await listed(store, { userId: 'alice' }, { all: true })).toEqual([beside, key.toString()]);
    expect(await keepHistory(store).delete(key)).toBe(true);
    expect(await listed(store, { userId: 'alice' }, { all: true })).toEqual([]);
  });

  suite.test('who comes too late takes no earlier state away, however often', async (store) => {
    const parts = { userId: 'alice', sessionId: 's' };
    const options = { versions: 3 };
    const versionsOf = async (): Promise<readonly number[]> => {
      const versions: number[] = [];
      for await (const { version } of keepHistory(store, options).history(SessionKey.of(parts)))
        versions.push(version);
      return versions;
    };
    const write = async (onConflict: 'fail' | 'merge') => {
      const session = await openSession(keepHistory(store, options), SessionKey.of(parts), { onConflict });
      return () => {
        session.state.contextMutable().push(userMessage('Hi'));
        return session.commit();
      };
    };
    const late = await write('fail');
    await late();
    const writers = [await write('merge'), await write('merge')];
    for (let turn = 0; turn < 10; turn++) await writers[turn % 2]?.();
    expect((await versionsOf()).slice(0, 3)).toEqual([11, 10, 9]);
    for (let time = 0; time < 8; time++)
      await expect(late()).rejects.toMatchObject({ code: 'session_conflict' });
    expect((await versionsOf()).slice(0, 3)).toEqual([11, 10, 9]);
    const kept = await store.load(keyBeside(SessionKey.of(parts), 'history'));
    expect(kept?.messages.length).toBeLessThan(12);
  });

  suite.test('a commit that is refused leaves nothing, also where its session was erased', async (store) => {
    const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
    const lease = await store.lease?.(key, { ttlMs: 60_000 });
    const session = await openSession(keepHistory(store), key, { fence: lease?.fence });
    session.state.contextMutable().push(userMessage('Hi'));
    await session.commit();
    const steps = async () => (await store.load(keyBeside(key, 'history')))?.messages;
    const before = await steps();
    await lease?.release();
    const next = await store.lease?.(key, { ttlMs: 60_000 });
    session.state.contextMutable().splice(0, 1, userMessage('Later'));
    if (next) {
      await expect(session.commit()).rejects.toMatchObject({ code: 'lease_lost' });
      expect(await steps()).toEqual(before);
    }
    const storage = { stat: async () => undefined, list: async function* () {} } as unknown as Workspace;
    const erase = () => eraseUser({ session: store, storage }, { userId: 'alice' });
    // What lies beside a session that is busy stays, too.
    if (next) expect(await erase()).toEqual({ sessions: 0, files: 0, busy: [key] });
    await next?.release();
    expect(await erase()).toEqual({ sessions: 2, files: 0, busy: [] });
    await expect(session.commit()).rejects.toThrow();
    expect(await listed(store, {}, { all: true })).toEqual([]);
  });

  suite.test('a retention of the store’s own ends no history before its session', async (store) => {
    const { deleteOlderThan } = store as { deleteOlderThan?(options: { olderThan: Date }): Promise<number> };
    if (deleteOlderThan === undefined) return;
    const keys = ['busy', 'idle'].map((sessionId) => SessionKey.of({ userId: 'alice', sessionId }));
    const busy = keys[0] as SessionKey;
    for (const key of keys) {
      const session = await openSession(keepHistory(store), key);
      session.state.contextMutable().push(userMessage('Hi'));
      await session.commit();
    }
    const namedLikeOne = SessionKey.of({ userId: 'alice//x-history', sessionId: 'busy' });
    await commitAt(store, namedLikeOne, { expectedVersion: 0, append: numbered(1) });
    const lease = await store.lease?.(busy, { ttlMs: 60_000 });
    const olderThan = new Date(Date.now() + 60_000);
    expect(await deleteOlderThan.call(store, { olderThan })).toBe(3);
    const left = [keyBeside(busy, 'history'), busy].map(String);
    expect(await listed(store, {}, { all: true })).toEqual(left);
    await lease?.release();
    expect(await deleteOlderThan.call(store, { olderThan })).toBe(2);
  });
}
