import { SessionKey, SessionLeaseError } from '@x/core';
import { commitAt } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { RedisSession } from '../src/index.js';
import { keysOf } from '../src/redis-keys.js';
import { messages, testClient, testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const ttlMs = 60_000;
const change = { expectedVersion: 'latest', head: {}, keep: 0, append: messages(1) } as const;

/** Two processes on the same data, and the names of what the lease consists of. */
function twoProcesses(options: { readonly ttlSeconds?: number } = {}) {
  const { client, keyPrefix, store } = testStore(options);
  const other = new RedisSession({ client: testClient(), keyPrefix, ...options });
  const { lease, fence } = keysOf(keyPrefix, key);
  /** What the passing of its time does to a lease. */
  const runOut = () => client.pexpire(lease, 0);
  return { client, keyPrefix, store, other, lease, fence, runOut };
}

async function granted(store: RedisSession) {
  const lease = await store.lease(key, { ttlMs });
  if (lease === undefined) throw new Error('The lease was not granted.');
  return lease;
}

describe('a lease', () => {
  it('is had by one at a time, and by the next when it is released', async () => {
    const { client, store, other, lease } = twoProcesses();
    const first = await granted(store);
    expect(first.ttlMs).toBe(ttlMs);
    expect(await client.pttl(lease)).toBeGreaterThan(ttlMs - 10_000);
    expect(await other.lease(key, { ttlMs })).toBeUndefined();
    expect(await store.lease(key, { ttlMs })).toBeUndefined();
    await first.release();
    const second = await granted(other);
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(Number.isSafeInteger(second.fence)).toBe(true);
  });

  it('is granted to exactly one of many who ask at once', async () => {
    const { store, other } = twoProcesses();
    const asked = Array.from({ length: 20 }, (_, index) => (index % 2 ? store : other).lease(key, { ttlMs }));
    expect((await Promise.all(asked)).filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it('of one session leaves others free', async () => {
    const { store, other } = twoProcesses();
    await granted(store);
    expect(await other.lease(SessionKey.of({ userId: 'alice', sessionId: 's-2' }), { ttlMs })).toBeDefined();
  });

  it('of a holder that crashed runs out; what the holder still writes is refused, whole', async () => {
    const { store, other, runOut } = twoProcesses();
    const crashed = await granted(store);
    await commitAt(store, key, { ...change, fence: crashed.fence });
    await runOut();
    const heir = await granted(other);
    expect(heir.fence).toBeGreaterThan(crashed.fence);
    const late = commitAt(store, key, { ...change, head: { late: true }, fence: crashed.fence });
    const error = await late.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SessionLeaseError);
    expect(error).toMatchObject({ code: 'lease_lost', sessionKey: key.toString() });
    expect(await store.load(key)).toMatchObject({ version: 1, head: {} });
    expect(await commitAt(other, key, { ...change, expectedVersion: 1, fence: heir.fence })).toBe(2);
  });

  it('still counts when it has run out but nobody took it', async () => {
    const { store, other, runOut } = twoProcesses();
    const lease = await granted(store);
    await runOut();
    expect(await commitAt(store, key, { ...change, fence: lease.fence })).toBe(1);
    await lease.renew();
    expect(await other.lease(key, { ttlMs })).toBeUndefined();
  });

  it('begins anew when it is renewed, and is not renewed once it is lost', async () => {
    const { client, store, other, lease, runOut } = twoProcesses();
    const first = await granted(store);
    await client.pexpire(lease, 1_000);
    await first.renew();
    expect(await client.pttl(lease)).toBeGreaterThan(ttlMs - 10_000);
    await runOut();
    const second = await granted(other);
    await expect(first.renew()).rejects.toMatchObject({ code: 'lease_lost' });
    await first.release();
    expect(await store.lease(key, { ttlMs })).toBeUndefined();
    await second.renew();
    await second.release();
    await expect(second.renew()).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await store.lease(key, { ttlMs })).toBeDefined();
  });

  it('ends with the session; no later one has a fence as small', async () => {
    const { client, keyPrefix, store, other } = twoProcesses();
    const first = await granted(store);
    await commitAt(store, key, { ...change, fence: first.fence });
    expect(await other.delete(key)).toBe(true);
    expect(await client.keys(`${keyPrefix}*`)).toEqual([]);
    await expect(commitAt(store, key, { ...change, fence: first.fence })).rejects.toMatchObject({
      code: 'lease_lost',
    });
    await expect(first.renew()).rejects.toMatchObject({ code: 'lease_lost' });
    expect((await granted(other)).fence).toBeGreaterThan(first.fence);
  });

  it('keeps its fences growing when the clock of the server was set back', async () => {
    const { client, store, fence } = twoProcesses();
    const ahead = Date.now() * 1_000 + 10 ** 12;
    await client.set(fence, ahead);
    expect((await granted(store)).fence).toBe(ahead + 1);
  });

  it('of a session that never begins leaves nothing for ever', async () => {
    const { client, keyPrefix, store, fence } = twoProcesses();
    const lease = await granted(store);
    for (const name of await client.keys(`${keyPrefix}*`)) expect(await client.pttl(name)).toBeGreaterThan(0);
    await commitAt(store, key, { ...change, fence: lease.fence });
    expect(await client.pttl(fence)).toBe(-1);
  });

  it('keeps its fence as long as a session that ends by itself, and longer where it lasts longer', async () => {
    const { client, store, fence } = twoProcesses({ ttlSeconds: 30 });
    const lease = await granted(store);
    expect(await client.pttl(fence)).toBeGreaterThan(ttlMs - 10_000);
    await commitAt(store, key, { ...change, fence: lease.fence });
    expect(await client.pttl(fence)).toBeGreaterThan(ttlMs - 10_000);
    await client.pexpire(fence, 1_000);
    await commitAt(store, key, { ...change, fence: lease.fence });
    expect(await client.pttl(fence)).toBeGreaterThan(20_000);
    await lease.renew();
    expect(await client.pttl(fence)).toBeGreaterThan(ttlMs - 10_000);
  });

  it('takes one round trip, and a commit under it takes one', async () => {
    const { client, store } = twoProcesses();
    const earlier = await granted(store);
    await commitAt(store, key, { ...change, fence: earlier.fence });
    await earlier.renew();
    await earlier.release();
    // By now the server knows the scripts, and each takes its hash alone.
    const lease = await granted(store);
    const sent: string[] = [];
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, stream) => {
      sent.push(command.name);
      return send(command, stream);
    };
    await commitAt(store, key, { ...change, fence: lease.fence });
    await lease.renew();
    await lease.release();
    await granted(store);
    // The commit looks first what there is.
    expect(sent.filter((name) => name === 'evalsha')).toHaveLength(4);
  });

  it.each([{ ttlMs: 0 }, { ttlMs: -1 }, { ttlMs: 1.5 }, {}, { ttlMs, ttl: 1 }])(
    'refuses %o',
    async (options) => {
      const { store } = testStore();
      await expect(store.lease(key, options as never)).rejects.toMatchObject({ code: 'invalid_input' });
    },
  );
});
