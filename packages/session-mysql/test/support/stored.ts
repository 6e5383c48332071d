import { fileURLToPath } from 'node:url';
import type { StoredData } from '@x/test-support/suites';
import { escape as escaped, type Pool, type RowDataPacket } from 'mysql2/promise';
import { MysqlSession } from '../../src/index.js';
import { testPool, uniqueTable } from './test-store.js';

/** In a fixture, instead of the name of the table. */
const TABLE = 'x_stored';

/** What a database has stored, as SQL: the statements that make its tables, and its rows. */
export function storedInMysql(): StoredData {
  let table: string;
  let schema: readonly string[];
  return {
    fixture: fileURLToPath(new URL('../../fixtures/stored/1/sessions.sql', import.meta.url)),
    create: async () => {
      table = uniqueTable();
      const recorded: string[] = [];
      const pool = testPool();
      await new MysqlSession({ pool: recording(pool, recorded), table }).createTables();
      schema = recorded.filter((sql) => /^\s*CREATE TABLE/.test(sql));
      return new MysqlSession({ pool, table });
    },
    dump: async () => {
      const pool = testPool({ dateStrings: true, supportBigNumbers: true, bigNumberStrings: true });
      const lines = schema.map((sql) => `${sql.trim()};`);
      for (const name of [
        table,
        `${table}_messages`,
        `${table}_leases`,
        `${table}_processes`,
        `${table}_format`,
      ]) {
        const [rows] = await pool.query<RowDataPacket[]>(`SELECT * FROM \`${name}\` ORDER BY 1, 2`);
        for (const row of rows) {
          const values = Object.values(row).map(literal).join(', ');
          lines.push(`INSERT INTO \`${name}\` (${Object.keys(row).join(', ')}) VALUES (${values});`);
        }
      }
      return `${lines.join('\n').replaceAll(table, TABLE)}\n`;
    },
    restore: async (dump) => {
      table = uniqueTable();
      const pool = testPool({ multipleStatements: true, charset: 'utf8mb4' });
      await pool.query(dump.replaceAll(TABLE, table));
      const store = new MysqlSession({ pool: testPool(), table });
      await store.createTables();
      return store;
    },
  };
}

/** A pool that notes the statements that have no parameters. */
function recording(pool: Pool, statements: string[]): Pool {
  const getConnection = async () => {
    const connection = await pool.getConnection();
    const query = (sql: string, ...rest: never[]) => {
      if (typeof sql === 'string' && rest.length === 0) statements.push(sql);
      return connection.query(sql, ...rest);
    };
    return new Proxy(connection, {
      get: (target, name) => (name === 'query' ? query : bound(target, name)),
    });
  };
  return new Proxy(pool, {
    get: (target, name) => (name === 'getConnection' ? getConnection : bound(target, name)),
  });
}

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === 'function' ? value.bind(target) : value;
}

function literal(value: unknown): string {
  return Buffer.isBuffer(value) ? `x'${value.toString('hex')}'` : escaped(value as string | number | null);
}
