import { SessionKey, userMessage } from '@x/core';
import { commitAt } from '@x/test-support';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { expect, it } from 'vitest';
import { testPool, testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const turn = () => [userMessage('q'.repeat(1_400)), userMessage('a'.repeat(1_400))];
const COUNTERS = ['Com_stmt_execute', 'Com_commit', 'Handler_write', 'Handler_update', 'Handler_delete'];

it('a commit costs three statements and a commit, and what it adds, at 20 messages as at 2 000', async () => {
  const { pool, store } = await testStore({ connectionLimit: 1 });
  let version = 0;
  const costs: object[] = [];
  for (const stored of [20, 2_000]) {
    const history = Array.from({ length: stored / 2 }, turn).flat();
    await commitAt(store, key, { expectedVersion: version++, head: {}, keep: 0, append: history });
    await commitAt(store, key, { expectedVersion: version++, head: {}, keep: stored, append: turn() });
    const before = await counters(pool);
    await commitAt(store, key, { expectedVersion: version++, head: {}, keep: stored + 2, append: turn() });
    const after = await counters(pool);
    costs.push(
      Object.fromEntries(COUNTERS.map((name) => [name, Number(after[name]) - Number(before[name])])),
    );
  }
  const cost = { Com_stmt_execute: 3, Com_commit: 1, Handler_write: 2, Handler_update: 1, Handler_delete: 0 };
  expect(costs).toEqual([cost, cost]);
});

it('a session is found by its hash, its messages by the primary key', async () => {
  const { table, store } = await testStore();
  for (let index = 0; index < 100; index++) {
    await commitAt(store, SessionKey.of(`s-${index}`), {
      expectedVersion: 0,
      head: {},
      keep: 0,
      append: turn(),
    });
  }
  const [plan] = await testPool().query<RowDataPacket[]>(
    `EXPLAIN SELECT m.message FROM ${table} AS s JOIN ${table}_messages AS m ON m.session_id = s.id
     WHERE s.key_hash = (SELECT key_hash FROM ${table} LIMIT 1)`,
  );
  expect(plan.map(({ key }) => key)).toEqual(expect.arrayContaining(['by_key', 'PRIMARY']));
});

/** What the pool's one connection has made the server do so far. */
async function counters(pool: Pool): Promise<Record<string, unknown>> {
  const [rows] = await pool.query<RowDataPacket[]>('SHOW SESSION STATUS');
  return Object.fromEntries(rows.map((row) => [row.Variable_name, row.Value]));
}
