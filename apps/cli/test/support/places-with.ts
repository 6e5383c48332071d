import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Pool } from 'mysql2/promise';
import type pg from 'pg';

/** The files below a directory that hold a text, in whatever bytes. */
export function filesWith(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => path.includes(text) || readFileSync(path).includes(text));
}

/** The keys of Redis below a prefix that hold a text. */
export async function keysWith(client: Redis, keyPrefix: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const key of await client.keys(`${keyPrefix}*`)) {
    const read: Readonly<Record<string, () => Promise<unknown>>> = {
      string: () => client.get(key),
      list: () => client.lrange(key, 0, -1),
      hash: () => client.hgetall(key),
      set: () => client.smembers(key),
      zset: () => client.zrange(key, '0', '-1'),
      stream: () => client.xrange(key, '-', '+'),
    };
    const value = await read[await client.type(key)]?.();
    if (`${key} ${JSON.stringify(value)}`.includes(text)) found.push(key);
  }
  return found;
}

type Query = (sql: string, values: string[]) => Promise<readonly Record<string, unknown>[]>;

/** The rows of MySQL in all tables whose names begin so that hold a text. */
export function rowsOfMysqlWith(pool: Pool, table: string, text: string): Promise<string[]> {
  const query: Query = async (sql, values) => (await pool.query(sql, values))[0] as never;
  return rowsWith(query, 'table_schema = database() AND table_name LIKE ?', table, text, '`');
}

/** The rows of PostgreSQL in all tables whose names begin so that hold a text. */
export function rowsOfPostgresWith(pool: pg.Pool, table: string, text: string): Promise<string[]> {
  const query: Query = async (sql, values) => (await pool.query(sql, values)).rows;
  return rowsWith(query, 'table_schema = current_schema() AND table_name LIKE $1', table, text, '"');
}

async function rowsWith(
  query: Query,
  where: string,
  table: string,
  text: string,
  quote: string,
): Promise<string[]> {
  const tables = await query(`SELECT table_name AS name FROM information_schema.tables WHERE ${where}`, [
    `${table}%`,
  ]);
  const found: string[] = [];
  for (const { name } of tables) {
    for (const row of await query(`SELECT * FROM ${quote}${name}${quote}`, [])) {
      const cells = Object.values(row).map((cell) =>
        Buffer.isBuffer(cell) ? cell.toString('latin1') : JSON.stringify(cell),
      );
      if (cells.join(' ').includes(text)) found.push(`${name}: ${cells.join(' ').slice(0, 200)}`);
    }
  }
  if (tables.length === 0) throw new Error(`There is no table ${table}`);
  return found;
}
