import { readFileSync } from 'node:fs';
import { type Message, SessionKey, toolResultMessage, userMessage } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { commitAt } from '@x/test-support';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { testStore } from './support/test-store.js';

const page = readFileSync(new URL('../../../docs/mysql.md', import.meta.url), 'utf8');
const queries = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql ?? '');
const [view = '', whoSaidWhat = '', sessionsOfUser = '', largest = '', failures = '', running = ''] = queries;

const key = SessionKey.of({ userId: 'alice', sessionId: 's-001' });
const createdAt = '2026-01-02T03:04:05.678Z';
const said: readonly Message[] = [
  userMessage('Hello 😀', { createdAt }),
  toolResultMessage({ id: 'call-1', name: 'search' }, 'no such file', { isError: true, createdAt }),
];

describe("the queries of the package's documentation", () => {
  it('are all tested', () => {
    expect(queries).toHaveLength(6);
  });

  it('tell who said what, and when, by the indexes', async () => {
    const { pool, table } = await storeWithSessions();
    expect(await run(pool, table, whoSaidWhat)).toEqual([
      { seq: 0, said_at: createdAt, said_by: 'user', texts: ['Hello 😀'], results: null },
      { seq: 1, said_at: createdAt, said_by: 'tool', texts: null, results: ['no such file'] },
    ]);
    const plan = await run(pool, table, `EXPLAIN ${whoSaidWhat}`);
    // The last row is that of JSON_TABLE, the first that of the view, which contains only the session.
    expect(plan.map((row) => row.key)).toEqual([null, 'by_key', 'PRIMARY', 'by_key', null]);
  });

  it('tell the sessions of a user, by the index', async () => {
    const { pool, table } = await storeWithSessions();
    expect(await run(pool, table, sessionsOfUser)).toMatchObject([
      { session_key: '/alice//s-002', version: 1, message_count: 0 },
      { session_key: '/alice//s-001', version: 2, message_count: 2 },
    ]);
    // The server usually does this when a table has grown, but not at once.
    await run(pool, table, 'ANALYZE TABLE agent_sessions');
    expect(await run(pool, table, `EXPLAIN ${sessionsOfUser}`)).toMatchObject([{ key: 'by_user_and_time' }]);
  });

  it('tell the largest sessions', async () => {
    const { pool, table } = await storeWithSessions();
    const bytes = said.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 2);
    const rows = await run(pool, table, largest);
    expect(rows).toHaveLength(20);
    expect(rows[0]).toMatchObject({ session_key: '/alice//s-001', message_count: 2 });
    expect(Number(rows[0]?.size)).toBe(bytes);
    expect(Number(rows[1]?.size)).toBe(2);
  });

  it('tell which tool calls failed', async () => {
    const { pool, table } = await storeWithSessions();
    expect(await run(pool, table, failures)).toEqual([
      { session_key: '/alice//s-001', failed_at: createdAt, tools: ['search'] },
    ]);
  });

  it('tell which turns are running', async () => {
    const { pool, table, store } = await storeWithSessions();
    const turn = await takeTurn(store, key);
    expect(await run(pool, table, running)).toMatchObject([
      { session_key: '/alice//s-001', fence: turn.fence },
    ]);
    await turn.release();
    expect(await run(pool, table, running)).toEqual([]);
  });
});

async function storeWithSessions() {
  const created = await testStore();
  const others = Array.from({ length: 20 }, (_, index) =>
    SessionKey.of({ userId: 'bob', sessionId: `${index}` }),
  );
  const second = SessionKey.of({ userId: 'alice', sessionId: 's-002' });
  for (const each of [key, second, ...others]) {
    const append = each === key ? said.slice(0, 1) : [];
    await commitAt(created.store, each, { expectedVersion: 0, head: {}, keep: 0, append });
  }
  // The first message has a row, the second is in the tail.
  await commitAt(created.store, key, { expectedVersion: 1, head: {}, keep: 1, append: said.slice(1) });
  await run(created.pool, created.table, view);
  return created;
}

async function run(pool: Pool, table: string, sql: string): Promise<readonly RowDataPacket[]> {
  const [rows] = await pool.query<RowDataPacket[]>(sql.replaceAll('agent_sessions', table));
  return rows;
}
