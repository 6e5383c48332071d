import { deleteOlderThan, SessionKey } from '@x/core';
import { commitAt } from '@x/test-support';
import type { RowDataPacket } from 'mysql2/promise';
import { expect, it } from 'vitest';
import { collect, messages, testStore } from './support/test-store.js';

const cutoff = new Date('2026-03-01T12:00:00.500Z');

it('deleteOlderThan deletes what was changed before that millisecond, messages and all', async () => {
  const { pool, table, store } = await testStore();
  for (const name of ['a', 'b', 'c', 'd'])
    await commitAt(store, SessionKey.of(name), {
      expectedVersion: 0,
      head: {},
      keep: 0,
      append: messages(2),
    });
  const date = (name: string, time: string) =>
    pool.query(`UPDATE ${table} SET updated_at = ? WHERE session_key = ?`, [time, `///${name}`]);
  await date('a', '2026-03-01 12:00:00.499');
  await date('b', '2026-03-01 12:00:00.500');
  await date('c', '2025-12-31 23:59:59.999');
  const ids = async () => (await collect(store.list())).map(({ key }) => key.parts.sessionId).sort();
  expect(await deleteOlderThan(store, { olderThan: cutoff })).toBe(2);
  expect(await ids()).toEqual(['b', 'd']);
  const [rows] = await pool.query<RowDataPacket[]>(`SELECT COUNT(*) AS count FROM ${table}_messages`);
  expect(rows).toEqual([{ count: 4 }]);
  const beyondMysql = new Date('+010000-01-01T00:00:00.000Z');
  expect(await deleteOlderThan(store, { olderThan: beyondMysql })).toBe(2);
  expect(await ids()).toEqual([]);
});
