import {
  copyStore,
  deleteOlderThan,
  eraseUser,
  InMemorySession,
  SessionConflictError,
  SessionKey,
  type SessionStore,
} from '@x/core';
import { takeTurn } from '@x/core/internal';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { numbered } from './sample-messages.js';
import { listed, noFiles, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ tenantId: 't', userId: 'u', agentId: 'a', sessionId: 's' });
const first = { expectedVersion: 0, head: { n: 1 }, keep: 0, append: numbered(2) };

/** Collections of a store that supports them. Tests are skipped for other stores. */
interface Collections {
  open(name: string): SessionStore;
  names(): Promise<string[]>;
}

/** Tests collections: sets of records that are separate from sessions. */
export function collections(suite: StoreSuite): void {
  const test = (name: string, run: (store: SessionStore, collections: Collections) => Promise<void>) =>
    suite.test(name, async (store, _, { skip }) => {
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
      await run(store, { open, names });
    });

  describe('collections', () => {
    // Long because it is a list of tests.
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
      const scope = { tenantId: 't', userId: 'u' };
      const report = await copyStore(store, new InMemorySession(), { scope, move: true });
      expect(report).toEqual({ copied: 1, unchanged: 0, conflicts: [], busy });
      expect(await eraseUser({ session: store, storage: noFiles }, scope)).toEqual({
        sessions: 0,
        files: 0,
        busy,
      });
      await turn.release();
    });

    test('another name is refused, and so is a collection of a collection', async (_, { open }) => {
      for (const name of ['', 'A', '1a', '-a', 'a_b', 'a/b', 'a:b', '..', 'é', 'a'.repeat(33), 1 as never]) {
        expect(() => open(name), name).toThrow(expect.objectContaining({ code: 'invalid_input' }));
      }
      const chats = open(`a${'0-'.repeat(15)}z`);
      expect([chats.collection, chats.collections]).toEqual([undefined, undefined]);
    });

    test('a retention deletes sessions and records by their age, except leased ones', async (store, {
      open,
    }) => {
      const chats = open('chats');
      for (const set of [store, chats]) {
        for (const sessionId of ['leased', 'free']) await commitAt(set, SessionKey.of(sessionId), first);
      }
      const turn = await takeTurn(chats, SessionKey.of('leased'));
      if (turn.fence === undefined) return;
      expect(await deleteOlderThan(store, { olderThan: new Date(0) })).toBe(0);
      const olderThan = new Date(Date.now() + 60_000);
      expect(await deleteOlderThan(store, { olderThan, limit: 1 })).toBe(1);
      expect(await deleteOlderThan(store, { olderThan })).toBe(2);
      expect(await listed(store)).toEqual([]);
      expect(await listed(chats)).toEqual([`${SessionKey.of('leased')}`]);
      await turn.release();
      expect(await deleteOlderThan(store, { olderThan })).toBe(1);
    });
  });
}
