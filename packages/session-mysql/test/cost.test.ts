import { SessionKey, userMessage } from '@x/core';
import { commitAt, takeLease } from '@x/test-support';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { expect, it } from 'vitest';
import { testPool, testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const turn = () => [userMessage('q'.repeat(1_400)), userMessage('a'.repeat(1_400))];
/** What the server counts. Each of the client's `Questions` is a round trip. */
const COUNTERS = ['Questions', 'Handler_write', 'Handler_update', 'Handler_delete'];

it('a commit that appends under a lease takes one round trip, at 20 messages as at 2 000', async () => {
  const { pool, store } = await testStore({ connectionLimit: 1 });
  const fence = (await takeLease(store, key))?.fence;
  let version = 0;
  const costs: object[] = [];
  for (const stored of [20, 2_000]) {
    const history = Array.from({ length: stored / 2 }, turn).flat();
    await commitAt(store, key, { expectedVersion: version++, head: {}, keep: 0, append: history });
    await commitAt(store, key, { expectedVersion: version++, head: {}, keep: stored, append: turn() });
    const append = turn();
    costs.push(
      await costOf(pool, () =>
        commitAt(store, key, { expectedVersion: version++, head: {}, keep: stored + 2, append, fence }),
      ),
    );
  }
  const cost = { Questions: 1, Handler_write: 0, Handler_update: 1, Handler_delete: 0 };
  expect(costs).toEqual([cost, cost]);
});

it('a commit for which the row of the session has no space takes seven round trips more, with a lease', async () => {
  const { pool, store } = await testStore({ connectionLimit: 1 });
  const fence = (await takeLease(store, key))?.fence;
  const questions: unknown[] = [];
  await commitAt(store, key, { expectedVersion: 0, fence });
  for (let version = 1; version <= 14; version++) {
    const change = { expectedVersion: version, keep: 2 * (version - 1), append: turn(), fence };
    questions.push((await costOf(pool, () => commitAt(store, key, change))).Questions);
  }
  // The second time, all statements are prepared already.
  expect(questions.slice(7)).toEqual([1, 1, 1, 1, 8, 1, 1]);
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

/** What a task has made the server do on the pool's one connection. */
async function costOf(pool: Pool, task: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await counters(pool);
  await task();
  const after = await counters(pool);
  // The first SHOW STATUS counts itself.
  const own = (name: string) => (name === 'Questions' ? 1 : 0);
  const spent = (name: string) => Number(after[name]) - Number(before[name]) - own(name);
  return Object.fromEntries(COUNTERS.map((name) => [name, spent(name)]));
}

/** What the pool's one connection has made the server do so far. */
async function counters(pool: Pool): Promise<Record<string, unknown>> {
  const [rows] = await pool.query<RowDataPacket[]>('SHOW SESSION STATUS');
  return Object.fromEntries(rows.map((row) => [row.Variable_name, row.Value]));
}
