import { fileURLToPath } from 'node:url';
import type { StoredData } from '@x/test-support/suites';
import pg, { type Pool } from 'pg';
import { PostgresSession } from '../src/index.js';

/** In a fixture, instead of the name of the table. */
const TABLE = 'x_stored';

/** What a database has stored, as SQL: the statements that make its tables, and its rows. */
export function storedInPostgres(pool: () => Pool, nextTable: () => string): StoredData {
  let table: string;
  let schema: readonly string[];
  return {
    fixture: fileURLToPath(new URL('../fixtures/stored/1/sessions.sql', import.meta.url)),
    create: async () => {
      table = nextTable();
      const recorded: string[] = [];
      await new PostgresSession({ pool: recording(pool(), recorded), table }).createTables();
      schema = recorded.filter((sql) => /^\s*CREATE/.test(sql));
      return new PostgresSession({ pool: pool(), table });
    },
    dump: async () => {
      const lines = schema.map(
        (sql) =>
          `${sql
            .trim()
            .replace(/;$/, '')
            .replace(/;\s*INSERT[^;]*$/, '')};`,
      );
      for (const name of [
        table,
        `${table}_messages`,
        `${table}_leases`,
        `${table}_processes`,
        `${table}_format`,
      ]) {
        const { rows } = await pool().query(`SELECT * FROM ${name} ORDER BY ${name}::text`);
        for (const row of rows) {
          const values = Object.values(row).map(literal).join(', ');
          lines.push(
            `INSERT INTO ${name} (${Object.keys(row).join(', ')}) OVERRIDING SYSTEM VALUE VALUES (${values});`,
          );
        }
      }
      lines.push(`SELECT setval(pg_get_serial_sequence('${table}', 'id'), (SELECT max(id) FROM ${table}));`);
      return `${lines.join('\n').replaceAll(table, TABLE)}\n`;
    },
    restore: async (dump) => {
      table = nextTable();
      await pool().query(dump.replaceAll(TABLE, table));
      const store = new PostgresSession({ pool: pool(), table });
      await store.createTables();
      return store;
    },
  };
}

/** A pool that notes the statements that have no parameters. */
function recording(pool: Pool, statements: string[]): Pool {
  const connect = async () => {
    const connection = await pool.connect();
    const query = (sql: string | pg.QueryConfig) => {
      if (typeof sql === 'object' && !sql.values?.length) statements.push(sql.text);
      return connection.query(sql);
    };
    return new Proxy(connection, {
      get: (target, name) => (name === 'query' ? query : bound(target, name)),
    });
  };
  return new Proxy(pool, { get: (target, name) => (name === 'connect' ? connect : bound(target, name)) });
}

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === 'function' ? value.bind(target) : value;
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
  if (value instanceof Date) return `'${value.toISOString()}'`;
  return typeof value === 'number' ? `${value}` : pg.escapeLiteral(String(value));
}
