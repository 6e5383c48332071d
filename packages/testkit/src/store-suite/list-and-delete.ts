import {
  copyStore,
  deleteOlderThan,
  InMemorySession,
  InvalidInputError,
  type Message,
  type SessionInfo,
  SessionKey,
  type SessionKeyParts,
  type SessionScope,
  type SessionStore,
} from '@x/core';
import type { ListOptions } from '@x/core/store';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { numbered } from './sample-messages.js';
import { listed, type StoreSuite } from './store-suite.js';

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
  // Keys that careless key encodings, patterns and prefixes may confuse with others.
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

/** Tests that sessions are found and deleted exactly by scope and key. */
export function listAndDelete(suite: StoreSuite): void {
  describe('list and delete', () => {
    // Long because it is a list of tests.
    suite.test('a scope lists its own sessions and no others', async (store) => {
      const keys = await commitAll(store);
      for (const scope of scopes) {
        const expected = keys.filter((key) => key.isWithin(scope)).map(String);
        expect(await listed(store, scope), JSON.stringify(scope)).toEqual(expected.sort());
      }
    });

    suite.test('a misspelled scope is rejected, and means nobody', async (store) => {
      const keys = await commitAll(store);
      for (const scope of [
        { userid: 'alice' },
        { userId: '' },
        { userId: 1 },
        { user: 'alice', agentId: 'coder' },
      ]) {
        const bad = scope as unknown as SessionScope;
        await errorOf(InvalidInputError, listed(store, bad));
        await errorOf(
          InvalidInputError,
          deleteOlderThan(store, { scope: bad, olderThan: new Date(Date.now() + 60_000) }),
        );
        await errorOf(InvalidInputError, copyStore(store, new InMemorySession(), { scope: bad, move: true }));
      }
      expect(await listed(store)).toEqual(keys.map(String).sort());
    });

    suite.test('list returns title, metadata, times, version and size', async (store) => {
      const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
      const head = { title: 'Trip to \u00c5re \ud83e', metadata: { topic: 'travel', stars: 3 } };
      const change = { head, keep: 0, append: numbered(3) };
      await commitAt(store, key, { expectedVersion: 0, ...change });
      const [begun] = await infosOf(store);
      await commitAt(store, key, { expectedVersion: 1, head, keep: 2, append: numbered(2, 'n') });
      const stored = await store.load(key);
      const [info] = await infosOf(store, { userId: 'alice' });
      expect(info?.key.toString()).toBe(key.toString());
      expect(info).toMatchObject({ ...head, version: 2, messages: 4, createdAt: begun?.createdAt });
      expect(info?.updatedAt).toBe(stored?.updatedAt);
      expect(info?.bytes).toBe(sizeOf([...numbered(2), ...numbered(2, 'n')]));
      expect(begun?.bytes).toBe(sizeOf(numbered(3)));
    });

    suite.test('list returns the last changed session first, also over pages', async (store) => {
      const keys = await commitAll(store);
      // A commit moves a session to the front. For that, the store's millisecond clock must advance.
      const again = SessionKey.of({ userId: 'alice', sessionId: 's2' });
      await nextMillisecond(store, again);
      await commitAt(store, again, { expectedVersion: 'latest' });
      for (const scope of [{}, { userId: 'alice' }, { tenantId: 'acme' }, { sessionId: 's1' }]) {
        const whole = await infosOf(store, scope);
        const times = whole.map(({ updatedAt }) => updatedAt);
        expect(times).toEqual([...times].sort().reverse());
        expect(whole).toHaveLength(keys.filter((key) => key.isWithin(scope)).length);
        const paged: SessionInfo[] = [];
        // Bounded, because a store that restarts at every page would never end.
        for (let after: string | undefined; paged.length <= whole.length; after = paged.at(-1)?.cursor) {
          const page = await infosOf(store, scope, { limit: 2, after });
          paged.push(...page);
          if (page.length < 2) break;
        }
        expect(paged.map(({ key }) => `${key}`)).toEqual(whole.map(({ key }) => `${key}`));
      }
      expect((await infosOf(store, {}, { limit: 1 }))[0]?.key.toString()).toBe(again.toString());
      const { updatedAt = '' } = (await infosOf(store, {}, { limit: 1 }))[0] ?? {};
      const older = await infosOf(store, {}, { updatedBefore: new Date(updatedAt) });
      expect(older.map(({ key }) => `${key}`)).not.toContain(again.toString());
      expect(older.length).toBeGreaterThan(0);
      expect(await infosOf(store, {}, { limit: 0 })).toEqual([]);
    });

    suite.test('list filters by metadata, and rejects unknown options', async (store) => {
      for (const [index, topic] of ['a', 'b', 'a', 'c'].entries()) {
        const key = SessionKey.of(`s${index}`);
        await commitAt(store, key, { expectedVersion: 0, head: { metadata: { topic } } });
      }
      const found = await infosOf(store, {}, { metadata: { topic: 'a' } });
      expect(found.map(({ key }) => key.parts.sessionId).sort()).toEqual(['s0', 's2']);
      expect(await infosOf(store, {}, { metadata: { topic: 'a' }, limit: 1 })).toHaveLength(1);
      for (const options of [{ limit: -1 }, { after: 'no cursor' }, { order: 'asc' }]) {
        await errorOf(InvalidInputError, infosOf(store, {}, options as ListOptions));
      }
    });

    suite.test('an unknown cursor is rejected or has its page', async (store) => {
      const keys = await commitAll(store);
      for (const text of [
        `${Date.now() + 1000} /u//c`,
        '99999999999999999999 1',
        '99999999999999 1',
        `${Date.now()} 99999999999999999999999`,
        `${Date.now()} 1.5`,
        `${Date.now()} \0`,
        `${Date.now()}  `,
      ]) {
        const after = Buffer.from(text).toString('base64url');
        const answer = await infosOf(store, {}, { after }).catch((thrown: unknown) => thrown);
        const isPage = Array.isArray(answer) && answer.length <= keys.length;
        expect(isPage || InvalidInputError.isInstance(answer), `${text}: ${answer}`).toBe(true);
      }
    });

    suite.test('load with `last` returns only the last messages', async (store) => {
      const key = SessionKey.of('s');
      await commitAt(store, key, { expectedVersion: 0, head: { n: 1 }, append: numbered(5) });
      await commitAt(store, key, { expectedVersion: 1, head: { n: 2 }, keep: 4, append: numbered(3, 'n') });
      const whole = [...numbered(4), ...numbered(3, 'n')];
      for (const last of [0, 1, 4, 7, 100]) {
        const stored = await store.load(key, { last });
        expect(stored).toMatchObject({ version: 2, head: { n: 2 } });
        expect(stored?.messages, `${last}`).toEqual(last === 0 ? [] : whole.slice(-last));
      }
      expect(await store.load(SessionKey.of('none'), { last: 3 })).toBeUndefined();
      for (const last of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '2' as unknown as number]) {
        await errorOf(InvalidInputError, store.load(key, { last }));
      }
    });
  });
}

async function infosOf(
  store: SessionStore,
  scope?: SessionScope,
  options?: ListOptions,
): Promise<SessionInfo[]> {
  const infos: SessionInfo[] = [];
  for await (const info of store.list(scope, options)) infos.push(info);
  return infos;
}

function sizeOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
}

/** Commits to a session until the store's clock has advanced since the last change. */
async function nextMillisecond(store: SessionStore, key: SessionKey): Promise<void> {
  const newest = async () =>
    (await infosOf(store))
      .map(({ updatedAt }) => updatedAt)
      .sort()
      .at(-1);
  const before = await newest();
  // A store that lists nothing has no timestamp to compare.
  if (before === undefined) return;
  do await commitAt(store, key, { expectedVersion: 'latest' });
  while ((await newest()) === before);
}

async function commitAll(store: SessionStore): Promise<readonly SessionKey[]> {
  const keys = all.map((parts) => SessionKey.of(parts));
  for (const key of keys) {
    await commitAt(store, key, { expectedVersion: 0, head: { key: key.toString() }, append: numbered(1) });
  }
  return keys;
}
