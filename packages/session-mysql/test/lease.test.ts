import { SessionKey, SessionLeaseError } from '@x/core';
import { checkWrongClocks, commitAt, type TakenLease, takeLease } from '@x/test-support';
import type { RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { MysqlSession } from '../src/index.js';
import { messages, testPool, testStore } from './support/test-store.js';
import { waiting } from './support/waiting.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const head = { sessionId: 's-1' };

it('a process beats while the application holds all connections of the pool, which keeps its size', async () => {
  const { pool, store } = await testStore({ connectionLimit: 1 });
  const { processes } = store.leases;
  await store.load(key);
  const opened: unknown[] = [];
  pool.on('connection', (connection) => opened.push(connection));
  const held = await pool.getConnection();
  const waiting = store.load(key);
  await processes.beat({ id: 'busy', ttlMs: 60_000 }, []);
  expect(await processes.look('busy')).toBe(1);
  expect(opened).toHaveLength(3);
  held.release();
  expect(await waiting).toBeUndefined();
  await processes.beat({ id: 'busy', ttlMs: 60_000 }, []);
  expect(await processes.look('busy')).toBe(2);
  expect(opened).toHaveLength(3);
});

describe('a lease', () => {
  it('follows no clock of a process', async () => {
    const { first, second } = await twoStores();
    await checkWrongClocks(first, second);
  });

  it('has a larger fence also when the clock of the server was put back', async () => {
    const { pool, table, first } = await twoStores();
    await (await granted(first)).release();
    const future = 8_000_000_000_000_000;
    await pool.query(`UPDATE ${table}_leases SET fence = ${future}`);
    const lease = await granted(first);
    expect(lease.fence).toBe(future + 1);
  });

  it('goes with the session when that is deleted, and its row too', async () => {
    const { pool, table, first, second } = await twoStores();
    const lease = await granted(first);
    await commitAt(first, key, { expectedVersion: 0, head, keep: 0, append: [], fence: lease.fence });
    await second.delete(key);
    const [rows] = await pool.query(`SELECT * FROM ${table}_leases`);
    expect(rows).toEqual([]);
    expect((await granted(second)).fence).toBeGreaterThan(lease.fence);
  });

  it('that a failover has forgotten is written down again, unless a newer one was granted', async () => {
    for (const forget of ['DELETE FROM', 'UPDATE']) {
      const { pool, table, first, second } = await twoStores();
      const lease = await granted(first);
      const earlier = forget === 'UPDATE' ? `SET fence = fence - 1, process = 'another', claim = '{}'` : '';
      await pool.query(`${forget} ${table}_leases ${earlier}`);
      expect(await lease.confirm()).toBe(true);
      expect(await second.leases.find(key)).toEqual({ ...lease.claim, fence: lease.fence });
      await granted(second, lease.fence);
      expect(await lease.confirm()).toBe(false);
    }
  });

  it('of a process whose record has ended gets no notes', async () => {
    const { pool, table, first } = await twoStores();
    const { processes } = first.leases;
    await processes.beat({ id: 'process', ttlMs: 60_000 }, []);
    await processes.send('process', { id: 'a', text: 'late' });
    await pool.query(`UPDATE ${table}_processes SET expires_at = UTC_TIMESTAMP(3)`);
    expect(await processes.look('process')).toBeUndefined();
    expect(await processes.send('process', { id: 'b', text: 'late' })).toBe(false);
    expect(await processes.beat({ id: 'other', ttlMs: 60_000 }, [])).toEqual([]);
    expect(await processes.beat({ id: 'process', ttlMs: 60_000 }, [])).toEqual([]);
  });
});

describe('a commit under a lease', () => {
  it('is made while it is the newest, released or not', async () => {
    const { first } = await twoStores();
    const lease = await granted(first);
    const change = { head, keep: 0, append: messages(1), fence: lease.fence };
    expect(await commitAt(first, key, { ...change, expectedVersion: 0 })).toBe(1);
    expect(await commitAt(first, key, { ...change, expectedVersion: 1, keep: 1 })).toBe(2);
    await lease.release();
    expect(await commitAt(first, key, { ...change, expectedVersion: 'latest', keep: 1 })).toBe(3);
  });

  it.each([
    ['begins the session', 0, 0, false],
    ['begins the session, whatever there is', 'latest', 0, false],
    ['adds', 1, 2, true],
    ['cuts', 1, 1, true],
    ['replaces, whatever there is', 'latest', 0, true],
    ['is late as well', 7, 2, true],
  ] as const)('is refused when a newer one was granted, and writes nothing: it %s', async (...arguments_) => {
    const [, expectedVersion, keep, exists] = arguments_;
    const { pool, table, first, second } = await twoStores();
    if (exists) await commitAt(first, key, { expectedVersion: 0, head, keep: 0, append: messages(2) });
    const before = await first.load(key);
    const old = await granted(first);
    await (await granted(second, old.fence)).release();
    const late = commitAt(first, key, {
      expectedVersion,
      head: { other: true },
      keep,
      append: messages(1),
      fence: old.fence,
    });
    await expect(late).rejects.toBeInstanceOf(SessionLeaseError);
    await expect(late).rejects.toMatchObject({ code: 'lease_lost', sessionKey: key.toString() });
    expect(await first.load(key)).toEqual(before);
    const [rows] = await pool.query<RowDataPacket[]>(`SELECT COUNT(*) AS count FROM ${table}_messages`);
    expect(rows).toEqual([{ count: exists ? 2 : 0 }]);
  });

  it('is refused with a fence that was never granted', async () => {
    const { first } = await twoStores();
    const change = { expectedVersion: 0, head, keep: 0, append: messages(1), fence: 1 };
    await expect(commitAt(first, key, change)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await first.load(key)).toBeUndefined();
  });

  it('is over before a newer one is granted', async () => {
    const { pool, table, first, second } = await twoStores();
    await commitAt(first, key, { expectedVersion: 0, head, keep: 0, append: [] });
    const lease = await granted(first);
    // The commit gets as far as the session's row, which someone else holds: by then it has locked the lease.
    const other = await pool.getConnection();
    await other.beginTransaction();
    await other.query(`UPDATE ${table} SET head = head`);
    const commit = commitAt(first, key, {
      expectedVersion: 1,
      head,
      keep: 0,
      append: messages(1),
      fence: lease.fence,
    });
    await waiting(pool, table, 1);
    // Two connections' answers arrive in any order, so what counts is what the holder of the newer lease finds.
    const next = takeLease(second, key, { over: lease.fence }).then(async (found) => ({
      fence: found?.fence,
      version: (await second.load(key))?.version,
    }));
    await waiting(pool, table, 2);
    await other.rollback();
    other.release();
    expect((await next).fence).toBeGreaterThan(lease.fence);
    expect((await next).version).toBe(2);
    expect(await commit).toBe(2);
  });
});

async function twoStores() {
  const { pool, table, store: first } = await testStore();
  return { pool, table, first, second: new MysqlSession({ pool: testPool(), table }) };
}

async function granted(store: MysqlSession, over?: number): Promise<TakenLease> {
  const lease = await takeLease(store, key, { over });
  if (lease === undefined) throw new Error('The lease should have been granted.');
  return lease;
}
