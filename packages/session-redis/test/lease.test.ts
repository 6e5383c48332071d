import { SessionKey } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { checkWrongClocks, claimOf, commitAt, type TakenLease, takeLease } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { RedisSession } from '../src/index.js';
import { keysOf } from '../src/redis-keys.js';
import { messages, testClient, testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const change = { expectedVersion: 'latest', head: {}, keep: 0, append: messages(1) } as const;
const MONTH_MS = 30 * 86_400_000;

/** Two processes on the same data, and the names of what the lease consists of. */
function twoProcesses(options: { readonly ttlSeconds?: number } = {}) {
  const { client, keyPrefix, store } = testStore(options);
  const other = new RedisSession({ client: testClient(), keyPrefix, ...options });
  const { lease, fence } = keysOf(keyPrefix, key);
  return { client, keyPrefix, store, other, lease, fence };
}

async function granted(store: RedisSession): Promise<TakenLease> {
  const lease = await takeLease(store, key);
  if (lease === undefined) throw new Error('The lease was not granted.');
  return lease;
}

describe('a lease', () => {
  it('follows no clock of a process', async () => {
    const { store, other } = twoProcesses();
    await checkWrongClocks(store, other);
  });

  it('still counts when it was released and nobody took it', async () => {
    const { store } = twoProcesses();
    const lease = await granted(store);
    await lease.release();
    expect(await commitAt(store, key, { ...change, fence: lease.fence })).toBe(1);
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

  it('keeps its fence while it is held, and then as long as a session that ends by itself', async () => {
    const { client, store, fence } = twoProcesses({ ttlSeconds: 30 });
    const lease = await granted(store);
    await commitAt(store, key, { ...change, fence: lease.fence });
    expect(await client.pttl(fence)).toBeGreaterThan(MONTH_MS - 60_000);
    await lease.release();
    expect(await client.pttl(fence)).toBeGreaterThan(20_000);
    expect(await client.pttl(fence)).toBeLessThanOrEqual(30_000);
  });

  it('takes one round trip, and so do its commit and its release', async () => {
    const { client, store } = twoProcesses();
    const earlier = await granted(store);
    await commitAt(store, key, { ...change, fence: earlier.fence });
    await earlier.release();
    // By now the server knows the scripts, and each takes its hash alone.
    const sent: string[] = [];
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, stream) => {
      sent.push(command.name);
      return send(command, stream);
    };
    const lease = await granted(store);
    await commitAt(store, key, { ...change, fence: lease.fence });
    await lease.release();
    // The commit looks first what there is.
    expect(sent.filter((name) => name === 'evalsha')).toHaveLength(3);
  });

  it('that a failover has forgotten is written down again, unless a newer one was granted', async () => {
    for (const forget of ['all', 'an earlier one is back', 'nothing']) {
      const { client, store, other, lease, fence } = twoProcesses();
      const first = await granted(store);
      if (forget !== 'nothing') await client.del(lease, fence);
      if (forget === 'an earlier one is back') {
        await client.set(fence, first.fence - 1);
        await client.set(lease, 'of another');
      }
      expect(await first.confirm()).toBe(true);
      expect(await other.leases.find(key)).toEqual({ ...first.claim, fence: first.fence });
      expect(await commitAt(store, key, { ...change, fence: first.fence })).toBe(1);
      await takeLease(other, key, { over: first.fence });
      expect(await first.confirm()).toBe(false);
      await store.delete(key);
    }
  });
});

describe('the record of a process', () => {
  it('ends by the clock of the server, with the notes to it', async () => {
    const { client, keyPrefix, store } = twoProcesses();
    const { processes } = store.leases;
    const beat = () => processes.beat({ id: 'one', ttlMs: 60_000 }, []);
    await beat();
    await processes.send('one', { id: 'a', text: 'late' });
    for (const name of await client.keys(`${keyPrefix}*`)) {
      expect(await client.pttl(name)).toBeGreaterThan(50_000);
      await client.pexpire(name, 0);
    }
    expect(await processes.look('one')).toBeUndefined();
    expect(await processes.send('one', { id: 'b', text: 'late' })).toBe(false);
    expect(await beat()).toEqual([]);
  });

  it('costs one command a beat, and is removed when the process rests', async () => {
    const { client, keyPrefix, store } = twoProcesses();
    const turn = await takeTurn(store, key, { processTtlMs: 200 });
    const [name = ''] = await client.keys(`${keyPrefix}process:*`);
    const ends = new Set<number>();
    while (ends.size < 3) ends.add(Number(await store.leases.processes.look(/{(.*)}/.exec(name)?.[1] ?? '')));
    await turn.release();
    while ((await client.exists(name)) === 1);
    expect(await client.keys(`${keyPrefix}process:*`)).toEqual([]);
  });
});

it('a claim is found as it was made', async () => {
  const { store } = twoProcesses();
  const claim = { ...claimOf(), host: 'host-1+0123', pid: 7, started: '42', ttlMs: 5_000 };
  const lease = await takeLease(store, key, { claim });
  expect(await store.leases.find(key)).toEqual({ ...claim, fence: lease?.fence });
});
