import { SessionKey } from '@x/core';
import { commitAt } from '@x/testkit';
import type { RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { statementsFor } from '../src/statements.js';
import { collect, testStore } from './support/test-store.js';

const add = { expectedVersion: 'latest', head: {}, keep: 0, append: [] } as const;

describe('list', () => {
  it('pages through many, the one that was begun last first', async () => {
    const { store } = await testStore();
    const ids = Array.from({ length: 520 }, (_, index) => `s-${index}`);
    for (const sessionId of ids) await commitAt(store, SessionKey.of({ userId: 'alice', sessionId }), add);
    const infos = await collect(store.list({ userId: 'alice' }));
    expect(infos.map(({ key }) => key.parts.sessionId)).toEqual(ids.reverse());
    expect(infos[0]).toMatchObject({ version: 1, updatedAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) });
  });

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
      [['user_hash = ?'], [hash]],
      [
        ['user_hash = ?', 'id < CAST(? AS UNSIGNED)'],
        [hash, '150'],
      ],
    ] as const) {
      const [[plan]] = await pool.execute<RowDataPacket[]>(`EXPLAIN ${list(conditions, 500)}`, [...values]);
      expect(plan).toMatchObject({ key: 'by_user', Extra: expect.not.stringContaining('filesort') });
    }
  });

  it('neither repeats nor forgets a session when others are begun, changed and deleted meanwhile', async () => {
    const { store } = await testStore();
    const ids = Array.from({ length: 510 }, (_, index) => `s-${index}`);
    for (const sessionId of ids) await commitAt(store, SessionKey.of(sessionId), add);
    const found: string[] = [];
    for await (const { key } of store.list()) {
      found.push(key.parts.sessionId);
      if (found.length !== 1) continue;
      await commitAt(store, SessionKey.of('s-0'), add);
      await commitAt(store, SessionKey.of('new'), add);
      await store.delete(SessionKey.of('s-5'));
    }
    expect(found).toEqual(ids.filter((id) => id !== 's-5').reverse());
  });
});
