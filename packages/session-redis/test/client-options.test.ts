import { randomUUID } from 'node:crypto';
import { SessionKey } from '@x/core';
import { commitAt, takeLease } from '@x/test-support';
import { Redis } from 'ioredis';
import { expect, inject, it, onTestFinished } from 'vitest';
import { RedisSession, RedisWorkspace } from '../src/index.js';
import { keysOf } from '../src/redis-keys.js';
import { proxiedClient } from './support/proxied-client.js';
import { collect, messages, testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's' });

it('a client in the place of options is told where it belongs, by none of its private fields', async () => {
  const client = new Redis(inject('redisUrl'));
  onTestFinished(() => client.disconnect());
  const make = () => new RedisSession(client as never);
  expect(make).toThrow(/is an instance of a class, not an options object; client: must be a Redis/);
  expect(make).not.toThrow('_events');
});

it('a client that answers numbers as text changes nothing', async () => {
  const client = new Redis(inject('redisUrl'), { stringNumbers: true });
  onTestFinished(() => client.disconnect());
  const options = { client, keyPrefix: `text-${randomUUID()}:` };
  const store = new RedisSession(options);
  const lease = await takeLease(store, key);
  const fence = lease?.fence;
  expect(
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: messages(2), fence }),
  ).toBe(1);
  expect(
    await commitAt(store, key, { expectedVersion: 1, head: {}, keep: 2, append: messages(1), fence }),
  ).toBe(2);
  expect(await lease?.confirm()).toBe(true);
  expect((await store.load(key))?.messages).toHaveLength(3);
  expect(await collect(store.list())).toMatchObject([{ version: 2 }]);
  expect(await store.delete(key)).toBe(true);
  expect(await store.delete(key)).toBe(false);
  const workspace = new RedisWorkspace(options);
  await workspace.append('a/b', 'text');
  expect(await workspace.stat('a/b')).toMatchObject({ size: 4 });
  expect(await workspace.lock('a', async () => 'held')).toBe('held');
  expect(await workspace.delete('a')).toBe(true);
});

it('a write whose reply is lost is done once', async () => {
  const { proxy, client } = await proxiedClient({ retryStrategy: () => 1 });
  const workspace = new RedisWorkspace({ client, keyPrefix: `lost-${randomUUID()}:` });
  await workspace.append('memory.md', '- likes coffee\n');
  let severed = proxy.severReplyTo('likes tea');
  await workspace.append('memory.md', '- likes tea\n');
  await severed;
  expect(Buffer.from(await workspace.read('memory.md')).toString()).toBe('- likes coffee\n- likes tea\n');
  severed = proxy.severReplyTo('first of all');
  await workspace.write('new.md', 'first of all', { ifAbsent: true });
  await severed;
  await expect(workspace.write('new.md', 'other', { ifAbsent: true })).rejects.toMatchObject({
    code: 'already_exists',
  });
});

it('a session says its format, and one of another release is told apart from damage', async () => {
  const { client, keyPrefix, store } = testStore();
  await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: messages(1) });
  const name = keysOf(keyPrefix, key).session;
  expect(await client.hget(name, 'format')).toBe('1');
  // Whatever else another release stored.
  await client.del(name);
  await client.hset(name, { format: '0', head: '{}', version: '1' });
  await expect(store.load(key)).rejects.toMatchObject({ code: 'session_older', outcome: 'none' });
  const commit = commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [] });
  await expect(commit).rejects.toMatchObject({ code: 'session_older' });
  await expect(store.list().next()).rejects.toMatchObject({ code: 'session_older' });
});
