import { SessionKey, SessionStoreError } from '@x/core';
import { commitAt } from '@x/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redis } from '../../../tooling/services/redis.js';
import { resolve } from '../../../tooling/services/resolve.js';
import { ownServers } from '../../../tooling/services/strategies.js';
import { RedisSession } from '../src/index.js';
import { proxiedClient } from './support/proxied-client.js';
import { collect, messages, testClient, testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const head = { sessionId: 's-1' };

describe('a connection that breaks', () => {
  it('fails every method with a typed error, and never answers "no session"', async () => {
    const { proxy, store } = await proxiedStore({ maxRetriesPerRequest: 0, retryStrategy: () => null });
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    proxy.sever();
    const attempts = [
      store.load(key),
      commitAt(store, key, { expectedVersion: 1, head, keep: 1, append: [] }),
      store.delete(key),
      collect(store.list()),
    ];
    for (const result of await Promise.allSettled(attempts)) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'session_unavailable', cause: expect.any(Error) },
      });
      expect((result as PromiseRejectedResult).reason).toBeInstanceOf(SessionStoreError);
    }
  });

  it('while the reply of a commit is under way does not commit twice', async () => {
    const { proxy, store } = await proxiedStore({ retryStrategy: () => 1 });
    const [first, second] = messages(2);
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [first] });
    for (const expectedVersion of [1, 'latest'] as const) {
      const { version = 0, messages: stored = [] } = (await store.load(key)) ?? {};
      const severed = proxy.severReplyTo('evalsha');
      const change = { expectedVersion, head, keep: stored.length, append: [second] };
      expect(await commitAt(store, key, change)).toBe(version + 1);
      await severed;
      expect((await store.load(key))?.messages).toEqual([...stored, second]);
    }
  });

  it('while the reply about a lease is under way does not lock its holder out', async () => {
    const { proxy, store } = await proxiedStore({ retryStrategy: () => 1 });
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [] });
    await (await store.lease(key, { ttlMs: 60_000 }))?.release();
    const severed = proxy.severReplyTo('evalsha');
    const lease = await store.lease(key, { ttlMs: 60_000 });
    await severed;
    expect(
      await commitAt(store, key, { expectedVersion: 1, head, keep: 0, append: [], fence: lease?.fence }),
    ).toBe(2);
    expect(await store.lease(key, { ttlMs: 60_000 })).toBeUndefined();
  });

  it('is no reason to forget the script: it is sent again when the server has forgotten it', async () => {
    // A server of its own: scripts belong to the whole server, and other tests count on theirs.
    const server = await resolve(redis, ownServers);
    onTestFinished(server.stop);
    const client = testClient(server.address);
    const store = new RedisSession({ client });
    for (const version of [0, 1]) {
      await client.script('FLUSH');
      expect(await commitAt(store, key, { expectedVersion: version, head, keep: 0, append: [] })).toBe(
        version + 1,
      );
    }
    expect(await store.load(key)).toMatchObject({ version: 2 });
  });
});

async function proxiedStore(options: Parameters<typeof proxiedClient>[0]) {
  const { proxy, client } = await proxiedClient(options);
  const { keyPrefix } = testStore();
  return { proxy, client, store: new RedisSession({ client, keyPrefix }) };
}
