import { InvalidInputError, SessionConflictError, SessionKey, type SessionStoreError } from '@x/core';
import { commitAt } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { RedisSession } from '../src/index.js';
import { keysOf } from '../src/redis-keys.js';
import { messages, testClient, testStore } from './support/test-store.js';

const key = SessionKey.of({ tenantId: 'acme', userId: 'alice', agentId: 'coder', sessionId: 's-1' });
const head = { schemaVersion: 1, sessionId: 's-1' };

describe('RedisSession', () => {
  it.each([6, -1, Number.NaN, 1.5])('refuses to keep %s of 5 messages and writes nothing', async (keep) => {
    const { client, keyPrefix, store } = testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(5) });
    const before = await dump(client, keyPrefix);
    const refused = commitAt(store, key, { expectedVersion: 1, head: {}, keep, append: messages(1) });
    await expect(refused).rejects.toBeInstanceOf(InvalidInputError);
    expect(await dump(client, keyPrefix)).toEqual(before);
  });

  it('lets one of many writers over different connections win', async () => {
    const { store, keyPrefix } = testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [] });
    const writers = Array.from({ length: 8 }, () => new RedisSession({ client: testClient(), keyPrefix }));
    const results = await Promise.allSettled(
      writers.map((writer, index) =>
        commitAt(writer, key, { expectedVersion: 1, head, keep: 0, append: messages(2, `writer ${index}`) }),
      ),
    );
    const lost = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
    expect(lost).toHaveLength(7);
    for (const error of lost) {
      expect(error).toBeInstanceOf(SessionConflictError);
      expect(error).toMatchObject({ actualVersion: 2, sessionKey: key.toString() });
    }
    expect((await store.load(key))?.messages).toHaveLength(2);
  });

  it('deletes everything there is of a session', async () => {
    const { client, keyPrefix, store } = testStore({ ttlSeconds: 60 });
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(2) });
    expect(await store.delete(key)).toBe(true);
    expect(await store.delete(key)).toBe(false);
    expect(await client.keys(`${keyPrefix}*`)).toEqual([]);
  });

  it.each([
    ['a lost list of messages', 'del', 'messages', undefined],
    ['a lost head', 'del', 'session', undefined],
    ['a format that is no number', 'hset', 'session', ['format', 'x']],
    ['a head that is no JSON', 'hset', 'session', ['head', '{"a":']],
    ['a head that is no object', 'hset', 'session', ['head', '[]']],
    ['a version that is no number', 'hset', 'session', ['state', 'one 5 5 5 o e']],
    ['a key of another type', 'set', 'session', ['text']],
  ] as const)('says that a session is corrupt: %s', async (_, command, part, values) => {
    const { client, keyPrefix, store } = testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    await client.call(command, keysOf(keyPrefix, key)[part], ...(values ?? []));
    await expect(store.load(key)).rejects.toMatchObject({
      code: 'session_corrupt',
      sessionKey: key.toString(),
    } satisfies Partial<SessionStoreError>);
  });

  it.each([
    ['a load', 'its field "state" is missing or invalid', ['hset', 'session', 'state', 'garbage']],
    ['a commit', 'its number of messages does not match its field "state"', ['rpush', 'messages', '{}']],
  ] as const)(
    'says what is wrong with a damaged session: %s',
    async (name, text, [command, part, ...values]) => {
      const { client, keyPrefix, store } = testStore();
      await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
      await client.call(command, keysOf(keyPrefix, key)[part], ...values);
      const again = { expectedVersion: 1, head, keep: 1, append: messages(1) };
      await expect(name === 'a load' ? store.load(key) : commitAt(store, key, again)).rejects.toThrow(
        `Session ${key} is damaged in Redis: ${text}. Nothing was changed`,
      );
    },
  );

  it('takes a session without a head for no empty one, also where no message is asked for', async () => {
    const { client, keyPrefix, store } = testStore();
    expect(await store.load(key, { last: 0 })).toBeUndefined();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    await client.del(keysOf(keyPrefix, key).session);
    await expect(store.load(key, { last: 0 })).rejects.toMatchObject({ code: 'session_corrupt' });
  });

  it.each(['{', '{"id":"m"}'])('loads a placeholder for the message %s', async (damaged) => {
    const { client, keyPrefix, store } = testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(2) });
    await client.lset(keysOf(keyPrefix, key).messages, 0, damaged);
    const stored = await store.load(key);
    expect(stored?.messages[0]?.content).toMatchObject([{ type: 'opaque', provider: 'damaged' }]);
    expect(stored?.messages[1]?.content).toEqual(messages(2)[1]?.content);
  });

  it('does not append to messages that are not those of its version', async () => {
    const { client, keyPrefix, store } = testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(2) });
    await client.rpop(keysOf(keyPrefix, key).messages);
    await expect(
      commitAt(store, key, { expectedVersion: 1, head, keep: 1, append: messages(1) }),
    ).rejects.toMatchObject({ code: 'session_corrupt' });
  });

  it('never closes the client', async () => {
    const { client, store } = testStore();
    await store.close();
    expect(await client.ping()).toBe('PONG');
  });

  it.each([
    [{ client: {} }, 'client'],
    [{ keyPrefix: 'a{b}' }, 'keyPrefix'],
    [{ ttlSeconds: -1 }, 'ttlSeconds'],
    [{ ttl: 5 }, 'ttl'],
    // A wait for replicas would hold up the leases of all sessions on the connection.
    [{ replicas: { count: 1, timeoutMs: 1_000 } }, 'replicas'],
  ])('refuses the options %o', (options, path) => {
    const make = () => new RedisSession({ client: testClient(), ...(options as object) });
    expect(make).toThrow(expect.objectContaining({ issues: [expect.objectContaining({ path })] }));
  });
});

/** Every key under a prefix with its serialized value. */
async function dump(client: ReturnType<typeof testClient>, keyPrefix: string) {
  const keys = (await client.keys(`${keyPrefix}*`)).sort();
  return Promise.all(keys.map(async (name) => [name, (await client.dumpBuffer(name))?.toString('hex')]));
}
