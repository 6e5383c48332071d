import { setImmediate } from 'node:timers/promises';
import { readText, SessionKey, SessionStoreError } from '@x/core';
import { operationId } from '@x/core/store';
import { commitAt, takeLease } from '@x/test-support';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redis } from '../../../tooling/services/redis.js';
import { ownServers, resolve } from '../../../tooling/services/resolve.js';
import { RedisSession, RedisWorkspace } from '../src/index.js';
import { isRefused, isTransient } from '../src/store-error.js';
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
    await (await takeLease(store, key))?.release();
    const severed = proxy.severReplyTo('evalsha');
    const lease = await takeLease(store, key);
    await severed;
    expect(
      await commitAt(store, key, { expectedVersion: 1, head, keep: 0, append: [], fence: lease?.fence }),
    ).toBe(2);
    expect(await takeLease(store, key)).toBeUndefined();
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

describe('a server of its own', () => {
  it('that is full can be read, says that nothing was written, and takes what makes room', async () => {
    const { client, store } = await ownServer();
    const keys = Array.from({ length: 20 }, (_, index) =>
      SessionKey.of({ userId: 'u', sessionId: `s-${index}` }),
    );
    const change = { expectedVersion: 0, head, keep: 0, append: messages(1, 'x'.repeat(100_000)) };
    for (const each of keys) await commitAt(store, each, change);
    const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
    await client.config('SET', 'maxmemory', used - 500_000);
    for (const each of keys) expect(await store.load(each)).toMatchObject({ version: 1 });
    expect(await collect(store.list({ userId: 'u' }))).toHaveLength(20);
    await expect(commitAt(store, key, change)).rejects.toMatchObject({
      code: 'session_unavailable',
      outcome: 'none',
    });
    for (const each of keys.slice(0, 10)) expect(await store.delete(each)).toBe(true);
    expect(await commitAt(store, key, change)).toBe(1);
  });

  it('that lacks replicas for the moment rejects commits with a transient error, and gets files later', async () => {
    const { client, store } = await ownServer();
    await client.config('SET', 'min-replicas-to-write', 1);
    const change = { expectedVersion: 0, head, keep: 0, append: messages(1) };
    await expect(commitAt(store, key, change)).rejects.toMatchObject({ outcome: 'none', isTransient: true });
    const workspace = new RedisWorkspace({ client });
    const log = '.x/sessions/s.log.jsonl';
    await expect(workspace.append(log, 'x')).rejects.toMatchObject({ isTransient: true });
    const appended = workspace.append('a.txt', 'x');
    await client.config('SET', 'min-replicas-to-write', 0);
    await appended;
    expect(await readText(workspace, 'a.txt')).toBe('x');
    await client.config('SET', 'maxmemory', 1);
    await expect(commitAt(store, key, change)).rejects.not.toHaveProperty('isTransient');
  });

  it('that is busy with a script rejects commits with a transient error', async () => {
    const { client, store, address } = await ownServer();
    await client.config('SET', 'lua-time-limit', 1);
    const other = new Redis(address);
    onTestFinished(() => other.disconnect());
    const endless = other.eval('while true do end', 0).catch(() => {});
    const isBusy = () =>
      client.ping().then(
        () => false,
        () => true,
      );
    while (!(await isBusy())) await setImmediate();
    const change = { expectedVersion: 0, head, keep: 0, append: messages(1) };
    await expect(commitAt(store, key, change)).rejects.toMatchObject({ outcome: 'none', isTransient: true });
    await client.call('SCRIPT', 'KILL');
    await endless;
    expect(await commitAt(store, key, change)).toBe(1);
  });

  it.each([
    "READONLY You can't write against a read only replica.",
    "ReplyError: READONLY You can't write against a read only replica.",
    "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
    'ERR max number of clients reached',
  ])('that answers "%s" may accept the same command soon', (text) => {
    expect(isTransient(new Error(text))).toBe(true);
    expect(isRefused(new Error(text))).toBe(true);
  });

  it('that stands still fails a commit whose outcome is unknown, and takes it once when it goes on', async () => {
    const { client, address } = await ownServer();
    const impatient = new Redis(address, { commandTimeout: 500, maxRetriesPerRequest: 0 });
    impatient.on('error', () => {});
    onTestFinished(() => impatient.disconnect());
    const store = new RedisSession({ client: impatient });
    const change = { operation: operationId(), expected: undefined, head, keep: 0, append: messages(1) };
    const pid = Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]);
    await impatient.ping();
    process.kill(pid, 'SIGSTOP');
    try {
      await expect(store.commit(key, change)).rejects.toMatchObject({ outcome: 'unknown' });
      await expect(store.load(key)).rejects.toMatchObject({ code: 'session_unavailable' });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const patient = new RedisSession({ client });
    expect(await patient.commit(key, change)).toBe(1);
    expect((await patient.load(key))?.messages).toEqual(change.append);
  });

  it('that a failover made a replica is left for the new master, as the readme does it', async () => {
    const [old, heir] = [await ownServer(), await ownServer()];
    const [at, now] = [old, heir].map(({ address }) => new URL(address)) as [URL, URL];
    const client = new Redis(Number(at.port), at.hostname, {
      reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
    });
    onTestFinished(() => client.disconnect());
    const store = new RedisSession({ client });
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    await heir.client.replicaof(at.hostname, at.port);
    await expect.poll(() => heir.store.load(key)).toBeDefined();
    await heir.client.replicaof('NO', 'ONE');
    await old.client.replicaof(now.hostname, now.port);
    const expected = (await store.load(key))?.token;
    const change = { operation: operationId(), expected, head, keep: 1, append: messages(1) };
    // Without it the connection stays where it is, and says truly that nothing was written.
    await expect(old.store.commit(key, change)).rejects.toMatchObject({ outcome: 'none' });
    // What the name of the master leads to now.
    client.options.port = Number(now.port);
    expect(await store.commit(key, change)).toBe(2);
    expect((await heir.store.load(key))?.messages).toHaveLength(2);
  });

  async function ownServer() {
    const server = await resolve(redis, ownServers);
    onTestFinished(server.stop);
    const client = testClient(server.address);
    return { client, address: server.address, store: new RedisSession({ client }) };
  }
});

async function proxiedStore(options: Parameters<typeof proxiedClient>[0]) {
  const { proxy, client } = await proxiedClient(options);
  const { keyPrefix } = testStore();
  return { proxy, client, store: new RedisSession({ client, keyPrefix }) };
}
