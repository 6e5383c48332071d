import { SessionKey, SessionLeaseError } from '@x/core';
import type { SessionLease } from '@x/core/store';
import { commitAt } from '@x/test-support';
import { createConnection, type Pool, type RowDataPacket } from 'mysql2/promise';
import { describe, expect, inject, it } from 'vitest';
import { MysqlSession } from '../src/index.js';
import { messages, testPool, testStore } from './support/test-store.js';
import { waiting } from './support/waiting.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const head = { sessionId: 's-1' };
const ttlMs = 60_000;

describe('a lease', () => {
  it('is had by one at a time, and the next one has a larger fence', async () => {
    const { first, second } = await twoStores();
    const lease = await granted(first);
    expect(lease.ttlMs).toBe(ttlMs);
    expect(await second.lease(key, { ttlMs })).toBeUndefined();
    expect(await first.lease(key, { ttlMs })).toBeUndefined();
    await lease.release();
    const next = await granted(second);
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(Number.isSafeInteger(next.fence)).toBe(true);
  });

  it('of one session is nothing to another', async () => {
    const { first } = await twoStores();
    await granted(first);
    expect(await first.lease(SessionKey.of('s-2'), { ttlMs })).toBeDefined();
  });

  it('is granted once to many who ask at the same time', async () => {
    const { first, second } = await twoStores();
    const asked = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? first : second).lease(key, { ttlMs }),
    );
    const leases = await Promise.all(asked);
    expect(leases.filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it('ends by itself when its holder dies', async () => {
    const { pool, table, second } = await twoStores();
    const holder = await createConnection(inject('mysqlUrl'));
    // A pool of one connection, which ends without a word.
    const dying = new MysqlSession({ pool: poolOf(holder), table });
    const lost = await granted(dying);
    holder.destroy();
    expect(await second.lease(key, { ttlMs })).toBeUndefined();
    await expire(pool, table);
    expect((await granted(second)).fence).toBeGreaterThan(lost.fence);
  });

  it('is renewed by the clock of the server', async () => {
    const { pool, table, first, second } = await twoStores();
    const lease = await granted(first);
    await expire(pool, table);
    await lease.renew();
    expect(await second.lease(key, { ttlMs })).toBeUndefined();
    const [[row]] = await pool.query<RowDataPacket[]>(
      `SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), expires_at) AS seconds FROM ${table}_leases`,
    );
    expect(Number(row?.seconds)).toSatisfy((seconds: number) => seconds > 30 && seconds <= 60);
  });

  it('cannot be renewed or released once somebody else has it', async () => {
    const { pool, table, first, second } = await twoStores();
    const old = await granted(first);
    await expire(pool, table);
    const current = await granted(second);
    await expect(old.renew()).rejects.toMatchObject({ code: 'lease_lost', sessionKey: key.toString() });
    await expect(old.renew()).rejects.toBeInstanceOf(SessionLeaseError);
    await old.release();
    expect(await first.lease(key, { ttlMs })).toBeUndefined();
    await current.renew();
  });

  it('that was released cannot be renewed, and may be released again', async () => {
    const { first } = await twoStores();
    const lease = await granted(first);
    await lease.release();
    await lease.release();
    await expect(lease.renew()).rejects.toMatchObject({ code: 'lease_lost' });
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
    await expect(lease.renew()).rejects.toMatchObject({ code: 'lease_lost' });
    const [rows] = await pool.query(`SELECT * FROM ${table}_leases`);
    expect(rows).toEqual([]);
    expect((await granted(second)).fence).toBeGreaterThan(lease.fence);
  });

  it.each([0, -1, 1.5, 2 ** 31, Number.NaN])('is not granted for %s milliseconds', async (time) => {
    const { first } = await twoStores();
    await expect(first.lease(key, { ttlMs: time })).rejects.toMatchObject({ issues: [{ path: 'ttlMs' }] });
  });
});

describe('a commit under a lease', () => {
  it('is made while it is the newest, expired or released or not', async () => {
    const { pool, table, first } = await twoStores();
    const lease = await granted(first);
    const change = { head, keep: 0, append: messages(1), fence: lease.fence };
    expect(await commitAt(first, key, { ...change, expectedVersion: 0 })).toBe(1);
    expect(await commitAt(first, key, { ...change, expectedVersion: 1, keep: 1 })).toBe(2);
    await expire(pool, table);
    expect(await commitAt(first, key, { ...change, expectedVersion: 2 })).toBe(3);
    await lease.release();
    expect(await commitAt(first, key, { ...change, expectedVersion: 'latest', keep: 1 })).toBe(4);
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
    await expire(pool, table);
    await (await granted(second)).release();
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
    await expire(pool, table);
    // The commit gets as far as the session's row, which somebody else holds: by then it has locked the lease.
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
    const next = second
      .lease(key, { ttlMs })
      .then(async (found) => ({ fence: found?.fence, version: (await second.load(key))?.version }));
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

async function granted(store: MysqlSession): Promise<SessionLease> {
  const lease = await store.lease(key, { ttlMs });
  if (lease === undefined) throw new Error('The lease should have been granted.');
  return lease;
}

/** As if their time had passed. */
async function expire(pool: Pool, table: string): Promise<void> {
  await pool.query(`UPDATE ${table}_leases SET expires_at = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND`);
}

function poolOf(connection: Awaited<ReturnType<typeof createConnection>>): Pool {
  const execute = connection.execute.bind(connection);
  const query = connection.query.bind(connection);
  const same = { query, execute, release: () => {}, destroy: () => {} };
  return { execute, getConnection: async () => same } as unknown as Pool;
}
