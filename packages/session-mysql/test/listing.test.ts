import { SessionKey } from '@x/core';
import { commitAt } from '@x/test-support';
import type { RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { statementsFor } from '../src/statements.js';
import { testStore } from './support/test-store.js';

const add = { expectedVersion: 'latest', head: {}, keep: 0, append: [] } as const;

describe('list', () => {
  it('reads an index, not the table', async () => {
    const { pool, table, store } = await testStore();
    for (let index = 0; index < 200; index++) {
      await commitAt(store, SessionKey.of({ userId: `user-${index}`, sessionId: 's' }), add);
    }
    const [[{ user_hash: hash } = { user_hash: null }]] = await pool.query<RowDataPacket[]>(
      `SELECT user_hash FROM ${table} LIMIT 1`,
    );
    const { list } = statementsFor(table);
    for (const [conditions, values] of [
      [['user_hash = ?', "collection = ''"], [hash]],
      [
        [
          'user_hash = ?',
          "collection = ''",
          'updated_at <= ?',
          '(updated_at < ? OR id < CAST(? AS UNSIGNED))',
        ],
        [hash, '2999-01-01', '2999-01-01', '150'],
      ],
    ] as const) {
      const [[plan]] = await pool.execute<RowDataPacket[]>(
        `EXPLAIN ${list} WHERE ${conditions.join(' AND ')} ORDER BY updated_at DESC, id DESC LIMIT 50`,
        [...values],
      );
      expect(plan).toMatchObject({ key: 'by_user_and_time', Extra: expect.not.stringContaining('filesort') });
    }
  });
});
