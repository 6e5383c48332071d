import { SessionKey } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { commitAt } from '@x/test-support';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { MysqlSession } from '../src/index.js';
import { statementsFor } from '../src/statements.js';
import { collect, messages, testPool, testStore } from './support/test-store.js';
import { waiting } from './support/waiting.js';

const cutoff = new Date('2026-03-01T12:00:00.500Z');

describe('deleteOlderThan', () => {
  it('deletes what was changed last before that moment, messages and all, and nothing else', async () => {
    const { pool, table, store } = await storeWith(['a', 'b', 'c', 'd']);
    await date(pool, table, 'a', '2026-03-01 12:00:00.499');
    await date(pool, table, 'b', '2026-03-01 12:00:00.500');
    await date(pool, table, 'c', '2025-12-31 23:59:59.999');
    expect(await store.deleteOlderThan({ olderThan: cutoff })).toBe(2);
    expect(await ids(store)).toEqual(['b', 'd']);
    expect(await store.load(SessionKey.of('b'))).toMatchObject({ messages: [{}, {}] });
    const [rows] = await pool.query<RowDataPacket[]>(`SELECT COUNT(*) AS count FROM ${table}_messages`);
    expect(rows).toEqual([{ count: 4 }]);
    expect(await store.deleteOlderThan({ olderThan: cutoff })).toBe(0);
  });

  it('deletes more than one transaction takes, and no more than it is told to, the oldest days first', async () => {
    const names = Array.from({ length: 120 }, (_, index) => `s-${index}`);
    const { pool, table, store } = await storeWith(names, 0);
    await pool.query(`UPDATE ${table} SET updated_at = '2026-01-01' + INTERVAL id DAY - INTERVAL 150 DAY`);
    await pool.query(`UPDATE ${table} SET message_count = 6000 WHERE id < 10`);
    expect(await store.deleteOlderThan({ olderThan: cutoff, limit: 0 })).toBe(0);
    expect(await store.deleteOlderThan({ olderThan: cutoff, limit: 5 })).toBe(5);
    expect(await ids(store)).toEqual(names.slice(5).sort());
    const beyondMysql = new Date('+010000-01-01T00:00:00.000Z');
    expect(await collect(store.list({}, { updatedBefore: beyondMysql }))).toHaveLength(115);
    expect(await store.deleteOlderThan({ olderThan: beyondMysql })).toBe(115);
    expect(await ids(store)).toEqual([]);
  });

  it('keeps a session whose turn is running', async () => {
    const { pool, table, store } = await storeWith(['a', 'b']);
    await pool.query(`UPDATE ${table} SET updated_at = '2026-01-01'`);
    const turn = await takeTurn(store, SessionKey.of('a'));
    expect(await store.deleteOlderThan({ olderThan: cutoff })).toBe(1);
    expect(await ids(store)).toEqual(['a']);
    await turn.release();
    await pool.query(`UPDATE ${table}_leases SET taken_at = '2026-01-01'`);
    expect(await store.deleteOlderThan({ olderThan: cutoff })).toBe(1);
    const [rows] = await pool.query(`SELECT * FROM ${table}_leases`);
    expect(rows).toEqual([]);
  });

  it('keeps a session that is changed while it looks', async () => {
    const { pool, table, store } = await storeWith(['a']);
    await pool.query(`UPDATE ${table} SET updated_at = '2026-01-01'`);
    const other = await testPool().getConnection();
    await other.beginTransaction();
    await other.query(`UPDATE ${table} SET updated_at = UTC_TIMESTAMP(3)`);
    const deleted = store.deleteOlderThan({ olderThan: cutoff });
    await waiting(pool, table, 1);
    await other.commit();
    other.release();
    expect(await deleted).toBe(0);
    expect(await ids(store)).toEqual(['a']);
  });

  it('keeps a session whose turn begins between the look and the lock, and takes its commit', async () => {
    const { pool, table, store } = await storeWith(['a']);
    await pool.query(`UPDATE ${table} SET updated_at = '2026-01-01'`);
    const key = SessionKey.of('a');
    const other = new MysqlSession({ pool: testPool(), table });
    let turn: Awaited<ReturnType<typeof takeTurn>> | undefined;
    const connect = pool.getConnection.bind(pool);
    pool.getConnection = async () => {
      const connection = await connect();
      const begin = connection.beginTransaction.bind(connection);
      connection.beginTransaction = async () => {
        turn ??= await takeTurn(other, key);
        await begin();
      };
      return connection;
    };
    expect(await store.deleteOlderThan({ olderThan: cutoff })).toBe(0);
    const change = { expectedVersion: 'latest', head: {}, keep: 2, append: messages(1) } as const;
    expect(await commitAt(other, key, { ...change, fence: turn?.fence })).toBe(2);
    await turn?.release();
  });

  it('finds them by the index of times', async () => {
    const { pool, table } = await storeWith(
      Array.from({ length: 200 }, (_, index) => `s-${index}`),
      0,
    );
    const [plan] = await pool.execute<RowDataPacket[]>(
      `EXPLAIN ${statementsFor(table).old(100).replace(':time', '?')}`,
      ['2026-01-01 00:00:00.000'],
    );
    expect(plan[0]).toMatchObject({ table: 's', key: 'by_time' });
    expect(plan[0]?.Extra).not.toContain('filesort');
  });

  it.each([
    ['olderThan', {}],
    ['olderThan', { olderThan: new Date(Number.NaN) }],
    ['olderThan', { olderThan: 5 }],
    ['limit', { olderThan: cutoff, limit: -1 }],
    ['limit', { olderThan: cutoff, limit: 1.5 }],
    ['days', { olderThan: cutoff, days: 1 }],
  ])('refuses a bad %s', async (path, options) => {
    const { store } = await testStore();
    await expect(store.deleteOlderThan(options as never)).rejects.toMatchObject({ issues: [{ path }] });
  });
});

async function storeWith(names: readonly string[], count = 2) {
  const created = await testStore();
  for (const name of names) {
    const append = messages(2).slice(0, count);
    await commitAt(created.store, SessionKey.of(name), { expectedVersion: 0, head: {}, keep: 0, append });
  }
  return created;
}

async function date(pool: Pool, table: string, name: string, time: string): Promise<void> {
  await pool.query(`UPDATE ${table} SET updated_at = ? WHERE session_key = ?`, [time, `///${name}`]);
}

async function ids(store: MysqlSession): Promise<string[]> {
  return (await collect(store.list())).map(({ key }) => key.parts.sessionId).sort();
}
