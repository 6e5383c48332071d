import { SessionKey, type SessionKeyParts, type SessionScope, type SessionStore } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { conflictOf } from './conflict-of.js';
import { listed } from './listed.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const all: readonly SessionKeyParts[] = [
  { sessionId: 's1' },
  { sessionId: 's2' },
  { userId: 'alice', sessionId: 's1' },
  { userId: 'alice', sessionId: 's2' },
  { userId: 'bob', sessionId: 's1' },
  { agentId: 'coder', sessionId: 's1' },
  { userId: 'alice', agentId: 'coder', sessionId: 's1' },
  { tenantId: 'acme', sessionId: 's1' },
  { tenantId: 'acme', userId: 'alice', sessionId: 's1' },
  { tenantId: 'acme', userId: 'alice', agentId: 'coder', sessionId: 's1' },
  { tenantId: 'umbrella', userId: 'alice', agentId: 'coder', sessionId: 's1' },
  // Those that careless keys, patterns and prefixes take for others.
  { userId: 'Alice', sessionId: 's1' },
  { userId: 'ali', sessionId: 'ces1' },
  { tenantId: 'acm', userId: 'e/alice', sessionId: '%' },
  { tenantId: 'o:alice', userId: '~00', agentId: '*', sessionId: '{x}' },
];

const scopes: readonly SessionScope[] = [
  {},
  { sessionId: 's1' },
  { userId: 'alice' },
  { agentId: 'coder' },
  { tenantId: 'acme' },
  { tenantId: 'acme', userId: 'alice' },
  { userId: 'alice', agentId: 'coder' },
  { tenantId: 'acme', userId: 'alice', agentId: 'coder', sessionId: 's1' },
  { userId: 'nobody' },
  { userId: 'acme' },
  { userId: 'al' },
  { userId: '_lice' },
  { sessionId: '%' },
  { tenantId: 'o:alice', userId: '~00' },
];

/** Sessions are found and deleted by scope and key, and by nothing else. */
export function listAndDelete(suite: StoreSuite): void {
  describe('list and delete', () => {
    suite.test('an empty store lists nothing', async (store) => {
      expect(await listed(store)).toEqual([]);
      expect(await listed(store, { userId: 'alice' })).toEqual([]);
    });

    suite.test('a scope lists what lies in it and nothing else', async (store) => {
      const keys = await commitAll(store);
      for (const scope of scopes) {
        const expected = keys.filter((key) => key.isWithin(scope)).map(String);
        expect(await listed(store, scope), JSON.stringify(scope)).toEqual(expected.sort());
      }
    });

    suite.test('a list tells version and time', async (store) => {
      const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
      await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [] });
      await commitAt(store, key, { expectedVersion: 1, head: {}, keep: 0, append: [] });
      const infos = [];
      for await (const info of store.list({ userId: 'alice' })) infos.push(info);
      expect(infos).toEqual([{ key, version: 2, updatedAt: (await store.load(key))?.updatedAt }]);
    });

    suite.test('deleting removes one session and no other', async (store) => {
      const keys = await commitAll(store);
      const left = new Set(keys.map(String));
      for (const key of keys) {
        expect(await store.delete(key)).toBe(true);
        expect(await store.load(key)).toBeUndefined();
        left.delete(key.toString());
        expect(await listed(store)).toEqual([...left].sort());
      }
    });

    suite.test('deleting what is not there says so', async (store) => {
      const key = SessionKey.of('s');
      expect(await store.delete(key)).toBe(false);
      await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) });
      expect(await store.delete(key)).toBe(true);
      expect(await store.delete(key)).toBe(false);
    });

    suite.test('a deleted session begins again at version 1, with nothing of the old one', async (store) => {
      const key = SessionKey.of('s');
      await commitAt(store, key, { expectedVersion: 0, head: { old: true }, keep: 0, append: numbered(5) });
      await commitAt(store, key, {
        expectedVersion: 1,
        head: { old: true },
        keep: 5,
        append: numbered(5, 'n'),
      });
      await store.delete(key);
      const late = commitAt(store, key, { expectedVersion: 2, head: {}, keep: 10, append: [] });
      expect(await conflictOf(late)).toMatchObject({ actualVersion: 0 });
      const change = { expectedVersion: 0, head: { old: false }, keep: 0, append: numbered(1, 'o') };
      expect(await commitAt(store, key, change)).toBe(1);
      expect(await store.load(key)).toMatchObject({
        version: 1,
        head: { old: false },
        messages: numbered(1, 'o'),
      });
    });
  });
}

async function commitAll(store: SessionStore): Promise<readonly SessionKey[]> {
  const keys = all.map((parts) => SessionKey.of(parts));
  for (const key of keys) {
    await commitAt(store, key, {
      expectedVersion: 0,
      head: { key: key.toString() },
      keep: 0,
      append: numbered(1),
    });
  }
  return keys;
}
