import { SessionKey, SessionStoreError } from '@x/core';
import type { RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { MysqlSession } from '../src/index.js';
import { messages, testPool, testStore } from './support/test-store.js';

const key = SessionKey.of('s-1');

describe('migrate', () => {
  it('may be called again, and by many at the same time', async () => {
    const pool = testPool();
    const stores = Array.from(
      { length: 6 },
      () => new MysqlSession({ pool: testPool(), table: 't_concurrent' }),
    );
    await Promise.all(stores.map((store) => store.migrate()));
    await Promise.all(stores.map((store) => store.migrate()));
    const [rows] = await pool.query<RowDataPacket[]>('SELECT * FROM t_concurrent_schema');
    expect(rows).toEqual([{ id: 1, version: 2 }]);
  });

  it('goes on where a crash interrupted it, and keeps what is stored', async () => {
    const { pool, table, store } = await testStore();
    await store.commit(key, { expectedVersion: 0, head: {}, keep: 0, append: messages(1) });
    await pool.query(`DELETE FROM ${table}_schema`);
    await store.migrate();
    expect((await store.load(key))?.messages).toHaveLength(1);
  });

  it('makes tables that hold every character, whatever the default of the database', async () => {
    const { pool, table } = await testStore();
    const [columns] = await pool.query<RowDataPacket[]>(
      `SELECT table_name AS name, collation_name AS collation FROM information_schema.columns
       WHERE table_schema = DATABASE() AND table_name LIKE '${table}%' AND data_type = 'longtext'`,
    );
    expect(columns.map((column) => column.collation)).toEqual(['utf8mb4_bin', 'utf8mb4_bin']);
    const [tables] = await pool.query<RowDataPacket[]>(
      `SELECT engine AS engine FROM information_schema.tables
       WHERE table_schema = DATABASE() AND table_name LIKE '${table}%'`,
    );
    expect(tables.map((row) => row.engine)).toEqual(['InnoDB', 'InnoDB', 'InnoDB', 'InnoDB']);
  });

  it('leaves tables alone that a newer version made', async () => {
    const { pool, table, store } = await testStore();
    await pool.query(`UPDATE ${table}_schema SET version = 99`);
    const refused = store.migrate();
    await expect(refused).rejects.toSatisfy(SessionStoreError.isInstance);
    await expect(refused).rejects.toThrow('upgrade @x/session-mysql');
  });

  it('is what the error asks for when the tables are missing', async () => {
    const store = new MysqlSession({ pool: testPool(), table: 't_missing' });
    await expect(store.load(key)).rejects.toMatchObject({
      code: 'session_unavailable',
      message: expect.stringContaining('migrate()'),
    });
  });
});
