import { readText, SessionKey } from '@x/core';
import { commitAt, takeLease } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { RedisSession, RedisWorkspace } from '../src/index.js';
import { testCluster } from './support/test-cluster.js';
import { collect, messages } from './support/test-store.js';

describe('on Redis Cluster', () => {
  it('sessions of several users lie on several masters, and are listed and deleted as one', async () => {
    const { client, keyPrefix } = testCluster();
    const store = new RedisSession({ client, keyPrefix, ttlSeconds: 60 });
    const keys = Array.from({ length: 30 }, (_, index) =>
      SessionKey.of({ tenantId: 'acme', userId: `{user ${index}}`, agentId: 'coder', sessionId: 's' }),
    );
    for (const key of keys) {
      const lease = await takeLease(store, key);
      const change = { expectedVersion: 0, head: {}, keep: 0, append: messages(2), fence: lease?.fence };
      expect(await commitAt(store, key, change)).toBe(1);
    }
    const perMaster = await keysOnMasters();
    expect(perMaster).toHaveLength(3);
    for (const names of perMaster) expect(names.length).toBeGreaterThan(0);

    const found = (await collect(store.list({ tenantId: 'acme' }))).map(({ key }) => `${key}`);
    expect(found.sort()).toEqual(keys.map(String).sort());
    for (const key of keys) expect(await store.delete(key)).toBe(true);
    expect((await keysOnMasters()).flat()).toEqual([]);

    function keysOnMasters(): Promise<string[][]> {
      return Promise.all(client.nodes('master').map((node) => node.keys(`*${keyPrefix}*`)));
    }
  });

  it('loads a session as of one moment, when some commands are sent on and others are not', async () => {
    const { client, keyPrefix } = testCluster();
    const store = new RedisSession({ client, keyPrefix });
    const key = SessionKey.of('s-1');
    const [first, second] = messages(2);
    await commitAt(store, key, { expectedVersion: 0, head: { turn: 1 }, keep: 0, append: [first] });
    // As where a slot moves: the hash has to be asked for elsewhere, and meanwhile there is another commit.
    const other = new RedisSession({ client: testCluster().client, keyPrefix });
    const [hmget, lrange] = [client.hmget.bind(client), client.lrange.bind(client)];
    let goOn = () => {};
    const isCommitted = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const change = { expectedVersion: 1, head: { turn: 2 }, keep: 0, append: [second] };
    Object.assign(client, {
      hmget: (...values: Parameters<typeof hmget>) => isCommitted.then(() => hmget(...values)),
      lrange: async (...values: Parameters<typeof lrange>) => {
        const found = await lrange(...values);
        await commitAt(other, key, change).then(goOn);
        return found;
      },
    });
    const { version, messages: found } = (await store.load(key)) ?? {};
    expect(found).toEqual([version === 1 ? first : second]);
  });

  it('works with a key prefix of the client as well', async () => {
    const { client, keyPrefix } = testCluster({ keyPrefix: 'client:' });
    const store = new RedisSession({ client, keyPrefix });
    const key = SessionKey.of('s-1');
    const [first, second] = messages(2);
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [first] });
    await commitAt(store, key, { expectedVersion: 1, head: {}, keep: 1, append: [second] });
    expect((await store.load(key))?.messages).toEqual([first, second]);
    expect(await collect(store.list())).toHaveLength(1);
    const workspace = new RedisWorkspace({ client, keyPrefix });
    await workspace.append('a/b', 'text');
    expect(await readText(workspace, 'a/b')).toBe('text');
    const names = await Promise.all(client.nodes('master').map((node) => node.keys(`*${keyPrefix}*`)));
    expect(names.flat().length).toBeGreaterThan(0);
    expect(names.flat().every((name) => name.startsWith('client:'))).toBe(true);
  });
});
