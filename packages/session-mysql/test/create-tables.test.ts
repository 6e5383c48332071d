import { SessionKey } from '@x/core';
import { commitAt } from '@x/test-support';
import type { RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { MysqlSession } from '../src/index.js';
import { messages, testPool, testStore } from './support/test-store.js';

const key = SessionKey.of('s-1');

describe('createTables', () => {
  it('may be called again, and by many at the same time', async () => {
    const pool = testPool();
    const stores = Array.from(
      { length: 6 },
      () => new MysqlSession({ pool: testPool(), table: 't_concurrent' }),
    );
    await Promise.all(stores.map((store) => store.createTables()));
    await Promise.all(stores.map((store) => store.createTables()));
    const [rows] = await pool.query<RowDataPacket[]>('SELECT * FROM t_concurrent_format');
    expect(rows).toEqual([{ id: 1, format: 1 }]);
  });

  it('goes on where a crash interrupted it, and keeps what is stored', async () => {
    const { pool, table, store } = await testStore();
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: messages(1) });
    await pool.query(`DELETE FROM ${table}_format`);
    await expect(new MysqlSession({ pool, table }).load(key)).rejects.toMatchObject({
      code: 'session_corrupt',
      message: expect.stringContaining('call createTables()'),
    });
    await store.createTables();
    expect((await store.load(key))?.messages).toHaveLength(1);
  });

  it('makes tables that hold every character, whatever the default of the database', async () => {
    const { pool, table } = await testStore();
    const [columns] = await pool.query<RowDataPacket[]>(
      `SELECT table_name AS name, collation_name AS collation FROM information_schema.columns
       WHERE table_schema = DATABASE() AND table_name LIKE '${table}%' AND data_type = 'longtext'`,
    );
    expect(columns.map((column) => column.collation)).toEqual(Array(4).fill('utf8mb4_bin'));
    const [tables] = await pool.query<RowDataPacket[]>(
      `SELECT engine AS engine FROM information_schema.tables
       WHERE table_schema = DATABASE() AND table_name LIKE '${table}%'`,
    );
    expect(tables.map((row) => row.engine)).toEqual(['InnoDB', 'InnoDB', 'InnoDB', 'InnoDB', 'InnoDB']);
  });

  it.each([
    [0, 'session_older', 'import them into a new store'],
    [2, 'session_newer', 'Upgrade @x/session-mysql'],
  ])('refuses tables of format %d as %s', async (format, code, remedy) => {
    const { pool, table, store } = await testStore();
    await pool.query(`UPDATE ${table}_format SET format = ${format}`);
    await expect(store.createTables()).rejects.toMatchObject({
      code,
      message: expect.stringContaining(remedy),
    });
  });

  it('is what the error asks for when the tables are missing', async () => {
    const store = new MysqlSession({ pool: testPool(), table: 't_missing' });
    await expect(store.load(key)).rejects.toMatchObject({
      code: 'session_unavailable',
      message: expect.stringContaining('createTables()'),
    });
  });
});
