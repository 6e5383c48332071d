import {
  copyStore,
  eraseUser,
  InMemorySession,
  SessionConflictError,
  SessionKey,
  type SessionStore,
  type Workspace,
} from '@x/core';
import { takeTurn } from '@x/core/internal';
import { operationId } from '@x/core/store';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { takeLease } from '../take-lease.js';
import { numbered } from './sample-messages.js';
import { listed, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ tenantId: 't', userId: 'u', agentId: 'a', sessionId: 's' });
const first = { expectedVersion: 0, head: { n: 1 }, keep: 0, append: numbered(2) };

/** The collections of a store that must have them, or a test is left out. */
interface Collections {
  open(name: string): SessionStore;
  names(): Promise<string[]>;
}

/** Collections are sets of records beside the sessions. */
export function collections(suite: StoreSuite): void {
  const test = (
    name: string,
    run: (
      store: SessionStore,
      collections: Collections,
      reopen: () => Promise<SessionStore>,
    ) => Promise<void>,
  ) =>
    suite.test(name, async (store, reopen, { skip }) => {
      const { collection, collections } = store;
      if (collection === undefined || collections === undefined) {
        expect([collection, collections]).toEqual([undefined, undefined]);
        return skip('the store has no collections');
      }
      const open = collection.bind(store);
      const names = async () => {
        const found: string[] = [];
        for await (const name of collections.call(store)) found.push(name);
        return found.sort();
      };
      await run(store, { open, names }, reopen);
    });

  describe('collections', () => {
    // Long because it is a list of tests.
    test('records of one key in the sessions and in collections never meet', async (store, { open }) => {
      const sets = [store, open('chats'), open('chats-2'), open('c')];
      for (const [n, set] of sets.entries()) {
        const commit = { ...first, head: { n, title: `t${n}` }, append: numbered(n, `${n}-`) };
        expect(await commitAt(set, key, commit)).toBe(1);
      }
      for (const [n, set] of sets.entries()) {
        expect(await set.load(key)).toMatchObject({
          version: 1,
          head: { n },
          messages: numbered(n, `${n}-`),
        });
        const infos = [];
        for await (const info of set.list({ userId: 'u' }))
          infos.push([`${info.key}`, info.title, info.messages]);
        expect(infos).toEqual([[`${key}`, `t${n}`, n]]);
      }
      for (const [n, set] of sets.entries()) {
        await commitAt(set, key, { expectedVersion: 1, head: { n: 10 * n }, keep: 0, append: [] });
        if (n % 2 === 0) expect(await set.delete(key)).toBe(true);
        expect(await set.delete(key, { token: 'none' })).toBe(false);
      }
      for (const [n, set] of sets.entries()) {
        expect((await set.load(key))?.head).toEqual(n % 2 === 0 ? undefined : { n: 10 * n });
      }
    });

    test('keys that look like those of a collection are sessions', async (store, { open }) => {
      const chats = open('chats');
      await commitAt(chats, SessionKey.of('s'), first);
      const lookalikes = ['chats:s', 'chats/s', 'collections/chats/s', 'collection:chats:s', '../chats/s'];
      for (const id of lookalikes) {
        for (const parts of [
          { sessionId: id },
          { agentId: id, sessionId: 's' },
          { tenantId: id, sessionId: 's' },
        ]) {
          await commitAt(store, SessionKey.of(parts), first);
        }
      }
      expect(await listed(store)).toHaveLength(3 * lookalikes.length);
      expect(await listed(chats)).toEqual([`${SessionKey.of('s')}`]);
    });

    test('a listing shows one set alone, in its scope and page by page', async (store, { open }) => {
      const chats = open('chats');
      for (const userId of ['alice', 'bob']) {
        for (const sessionId of ['1', '2', '3']) {
          await commitAt(store, SessionKey.of({ userId, sessionId }), first);
          await commitAt(chats, SessionKey.of({ userId, sessionId: `c${sessionId}` }), first);
        }
      }
      const ids = async (set: SessionStore) => {
        const found: string[] = [];
        let after: string | undefined;
        // A store that ignores the cursor would never end.
        while (found.length <= 6) {
          const page = [];
          for await (const info of set.list({ userId: 'alice' }, { limit: 2, after })) page.push(info);
          found.push(...page.map((info) => info.key.parts.sessionId));
          after = page.at(-1)?.cursor;
          if (page.length < 2) break;
        }
        return found.sort();
      };
      expect(await ids(store)).toEqual(['1', '2', '3']);
      expect(await ids(chats)).toEqual(['c1', 'c2', 'c3']);
    });

    test('a collection is named as long as it holds something', async (store, { open, names }) => {
      expect(await names()).toEqual([]);
      const chats = open('chats');
      expect(await names()).toEqual([]);
      await commitAt(chats, key, first);
      await commitAt(open('a-1'), key, first);
      expect(await names()).toEqual(['a-1', 'chats']);
      await chats.close();
      expect(await open('chats').load(key)).toBeDefined();
      expect(await chats.delete(key)).toBe(true);
      expect(await names()).toEqual(['a-1']);
      expect(await listed(store)).toEqual([]);
    });

    test('of writers at the same time, exactly one wins each version of a record', async (_, { open }) => {
      const chats = open('chats');
      for (let version = 0; version < 3; version++) {
        const { token } = (await chats.load(key)) ?? {};
        const results = await Promise.allSettled(
          [1, 2, 3].map((n) => {
            const change = { head: { n }, keep: 0, append: numbered(1, `${version}-`) };
            return open('chats').commit(key, { operation: operationId(), expected: token, ...change });
          }),
        );
        expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        for (const result of results) {
          if (result.status === 'rejected') expect(SessionConflictError.isInstance(result.reason)).toBe(true);
        }
      }
    });

    test('the lease of a record is not that of the session of the same key', async (store, { open }) => {
      const chats = open('chats');
      if (store.leases === undefined) return expect(chats.leases).toBeUndefined();
      const lease = await takeLease(chats, key);
      expect(await takeLease(open('chats'), key)).toBeUndefined();
      expect(await chats.leases?.find(key)).toMatchObject({ fence: lease?.fence });
      expect(await store.leases.find(key)).toBeUndefined();
      expect(chats.leases?.processes).toBe(store.leases.processes);
      const change = { operation: operationId(), expected: undefined, head: {}, keep: 0, append: [] };
      expect(await chats.commit(key, { ...change, fence: lease?.fence })).toBe(1);
      const other = { ...change, operation: operationId(), fence: lease?.fence };
      await expect(store.commit(key, other)).rejects.toMatchObject({ code: 'lease_lost' });
      await lease?.release();
    });

    test('errors and reports about a record name its collection', async (store, { open }) => {
      const chats = open('chats');
      for (const set of [store, chats]) await commitAt(set, key, first);
      for (const [set, collection] of [
        [store, undefined],
        [chats, 'chats'],
      ] as const) {
        const error = await errorOf(SessionConflictError, commitAt(set, key, first));
        expect(error).toMatchObject({ sessionKey: `${key}` });
        expect(error.collection).toBe(collection);
        expect(error.message.includes('"chats"')).toBe(collection !== undefined);
      }
      const turn = await takeTurn(chats, key);
      if (turn.fence === undefined) return;
      const busy = [{ key, collection: 'chats' }];
      const storage = { stat: async () => undefined, list: async function* () {} } as unknown as Workspace;
      const scope = { tenantId: 't', userId: 'u' };
      const report = await copyStore(store, new InMemorySession(), { scope, move: true });
      expect(report).toEqual({ copied: 1, unchanged: 0, conflicts: [], busy });
      expect(await eraseUser({ session: store, storage }, scope)).toEqual({ sessions: 0, files: 0, busy });
      await turn.release();
    });

    test('another name is refused, and so is a collection of a collection', async (_, { open }) => {
      for (const name of ['', 'A', '1a', '-a', 'a_b', 'a/b', 'a:b', '..', 'é', 'a'.repeat(33), 1 as never]) {
        expect(() => open(name), name).toThrow(expect.objectContaining({ code: 'invalid_input' }));
      }
      const chats = open(`a${'0-'.repeat(15)}z`);
      expect([chats.collection, chats.collections]).toEqual([undefined, undefined]);
    });

    test('what one instance stores in a collection, another finds', async (_, { open }, reopen) => {
      await commitAt(open('chats'), key, first);
      if (suite.options.reopen === undefined) return;
      const another = await reopen();
      expect(await another.collection?.('chats').load(key)).toMatchObject({ messages: numbered(2) });
      const names: string[] = [];
      for await (const name of another.collections?.() ?? []) names.push(name);
      expect(names).toEqual(['chats']);
    });

    test('a retention of the store’s own deletes sessions and records by their age', async (store, {
      open,
    }) => {
      const { deleteOlderThan } = store as {
        deleteOlderThan?(options: { olderThan: Date }): Promise<number>;
      };
      if (deleteOlderThan === undefined) return;
      const chats = open('chats');
      for (const set of [store, chats]) {
        for (const sessionId of ['leased', 'free']) await commitAt(set, SessionKey.of(sessionId), first);
      }
      const turn = await takeTurn(chats, SessionKey.of('leased'));
      const olderThan = new Date(Date.now() + 60_000);
      expect(await deleteOlderThan.call(store, { olderThan })).toBe(3);
      expect(await listed(store)).toEqual([]);
      expect(await listed(chats)).toEqual([`${SessionKey.of('leased')}`]);
      await turn.release();
      expect(await deleteOlderThan.call(store, { olderThan })).toBe(1);
    });
  });
}
