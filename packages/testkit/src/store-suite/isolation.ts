import { type Message, SessionConflictError, SessionKey } from '@x/core';
import type { StoredSession } from '@x/core/store';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { numbered } from './sample-messages.js';
import { listed, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

/** Sessions of other tenants, users and agents that have the same session id. */
const neighbors = [
  {},
  { userId: 'u' },
  { agentId: 'a' },
  { tenantId: 't' },
  { tenantId: 't', userId: 'u' },
  { userId: 'u', agentId: 'a' },
  { tenantId: 't', userId: 'u', agentId: 'a' },
  // The same names in other places.
  { tenantId: 'u', userId: 't' },
  { userId: 'a', agentId: 'u' },
].map((parts) => SessionKey.of({ ...parts, sessionId: 's' }));

/** Callers and store share no objects, and sessions share nothing. */
export function isolation(suite: StoreSuite): void {
  describe('isolation', () => {
    suite.test('a change of one session does not affect another', async (store) => {
      for (const [index, each] of neighbors.entries()) {
        const append = numbered(3, `${index}-`);
        await commitAt(store, each, { expectedVersion: 0, head: { index }, append });
      }
      const before = new Map<string, StoredSession | undefined>();
      for (const each of neighbors) before.set(each.toString(), await store.load(each));
      for (const each of neighbors) {
        await commitAt(store, each, { expectedVersion: 1, keep: 1, append: numbered(1, 'n') });
        await store.delete(each);
        before.set(each.toString(), undefined);
        for (const other of neighbors) {
          expect(await store.load(other), other.toString()).toEqual(before.get(other.toString()));
        }
      }
    });

    suite.test('mutating committed objects does not change the stored session', async (store) => {
      const head = { list: [1] };
      const append = numbered(2) as Mutable<Message>[];
      await commitAt(store, key, { expectedVersion: 0, head, append });
      head.list.push(2);
      for (const message of append) message.content = [];
      append.pop();
      expect(await store.load(key)).toMatchObject({ head: { list: [1] }, messages: numbered(2) });
    });

    suite.test('mutating a loaded session does not change the stored session', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, head: { list: [1] }, append: numbered(2) });
      spoil(await store.load(key));
      expect(await store.load(key)).toMatchObject({ head: { list: [1] }, messages: numbered(2) });
    });

    suite.test('mutating a loaded session does not change the next commit', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, head: { list: [1] }, append: numbered(2) });
      spoil(await store.load(key));
      await commitAt(store, key, { expectedVersion: 1, keep: 2, append: numbered(1, 'n') });
      expect((await store.load(key))?.messages).toEqual([...numbered(2), ...numbered(1, 'n')]);
    });
  });
}

function spoil(loaded: StoredSession | undefined): void {
  const { head, messages } = loaded as unknown as { head: { list: number[] }; messages: Mutable<Message>[] };
  head.list.push(2);
  for (const message of messages) message.content = [];
  messages.pop();
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Two instances on the same data see the same. */
export function instances(suite: StoreSuite): void {
  if (suite.options.reopen === undefined) return;
  describe('instances', () => {
    suite.testTwo('an instance sees at once what another commits and deletes', async (first, second) => {
      for (let version = 0; version < 4; version++) {
        const [writer, reader] = version % 2 === 0 ? [first, second] : [second, first];
        const append = numbered(1, `v${version}-`);
        await commitAt(writer, key, { expectedVersion: version, head: { version }, keep: version, append });
        const stored = await reader.load(key);
        expect(stored).toMatchObject({ version: version + 1, head: { version } });
        expect(stored?.messages.map(({ id }) => id)).toEqual(
          Array.from({ length: version + 1 }, (_, index) => `v${index}-0`),
        );
        expect(await listed(reader)).toEqual([key.toString()]);
      }
      expect(await second.delete(key)).toBe(true);
      expect(await first.load(key)).toBeUndefined();
      expect(await listed(first)).toEqual([]);
    });

    suite.testTwo('an instance cannot overwrite what another committed', async (first, second) => {
      await commitAt(first, key, { expectedVersion: 0, append: numbered(1) });
      await commitAt(second, key, { expectedVersion: 1, keep: 1, append: numbered(1, 'n') });
      const late = commitAt(first, key, { expectedVersion: 1, keep: 1, append: numbered(1, 'o') });
      expect(await errorOf(SessionConflictError, late)).toMatchObject({ actualVersion: 2 });
      expect((await first.load(key))?.messages).toEqual([...numbered(1), ...numbered(1, 'n')]);
    });

    suite.testTwo('of concurrent commits of two instances, exactly one wins', async (first, second) => {
      for (let version = 0; version < 5; version++) {
        const commits = [first, second, first, second].map((store, writer) =>
          commitAt(store, key, { expectedVersion: version, head: { writer }, append: numbered(1) }),
        );
        const results = await Promise.allSettled(commits);
        expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect((await second.load(key))?.version).toBe(version + 1);
      }
    });

    suite.testTwo('stored sessions are there after their instance is closed', async (first, second) => {
      await commitAt(first, key, { expectedVersion: 0, append: numbered(3) });
      await first.close();
      expect((await second.load(key))?.messages).toEqual(numbered(3));
    });
  });
}
