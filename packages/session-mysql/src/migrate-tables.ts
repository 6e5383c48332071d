import { SessionStoreError } from '@x/core';
import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import { createAppendProcedure } from './append-procedure.js';
import { checkPool } from './execute.js';
import { migrations } from './migrations.js';

/** The column or the index is there already, or gone already. */
const DONE = new Set([1060, 1061, 1091]);
/** The server cannot do it while others write, and then does it as it can. */
const NOT_ONLINE = new Set([1845, 1846]);

/** How long a migration waits for another one to end. */
const LOCK_SECONDS = 60;

/**
 * Creates the tables or brings them up to date. Whoever does it at the same time waits: the lock belongs to the
 * connection and ends with it.
 */
export async function migrateTables(pool: Pool, table: string): Promise<void> {
  await checkPool(pool);
  const connection = await pool.getConnection();
  try {
    const name = await lock(connection, table);
    try {
      await migrate(connection, table);
      await createAppendProcedure(connection, table);
    } finally {
      await connection.query('DO RELEASE_LOCK(?)', [name]);
    }
    connection.release();
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function migrate(connection: PoolConnection, table: string): Promise<void> {
  await connection.query(
    `CREATE TABLE IF NOT EXISTS \`${table}_schema\`
     (id TINYINT NOT NULL PRIMARY KEY, version INT UNSIGNED NOT NULL) ENGINE = InnoDB`,
  );
  const [rows] = await connection.query<RowDataPacket[]>({
    sql: `SELECT version FROM \`${table}_schema\``,
    rowsAsArray: false,
  });
  const current = Number(rows[0]?.version ?? 0);
  if (current > migrations.length) {
    throw new SessionStoreError(
      'session_unavailable',
      `The table ${table} is of version ${current}, newer than this package knows (${migrations.length}): upgrade ` +
        '@x/session-mysql.',
    );
  }
  for (const [index, statements] of migrations.entries()) {
    if (index < current) continue;
    for (const statement of statements(table)) await run(connection, statement);
    await connection.query(`REPLACE INTO \`${table}_schema\` (id, version) VALUES (1, ${index + 1})`);
  }
}

async function run(connection: PoolConnection, statement: string): Promise<void> {
  try {
    await connection.query(statement);
  } catch (error) {
    // A migration that a crash interrupted had come further than its version says; MySQL has no ADD COLUMN IF NOT EXISTS.
    const { errno = 0 } = error as { errno?: number };
    if (NOT_ONLINE.has(errno)) return run(connection, statement.replaceAll(/, (ALGORITHM|LOCK)=\w+/g, ''));
    if (!DONE.has(errno)) throw error;
  }
}

async function lock(connection: PoolConnection, table: string): Promise<string> {
  const [rows] = await connection.query<RowDataPacket[]>({
    sql: `SELECT name, GET_LOCK(name, ${LOCK_SECONDS}) AS held
          FROM (SELECT CONCAT('x:', MD5(CONCAT(COALESCE(DATABASE(), ''), '.', ?))) AS name) AS named`,
    values: [table],
    rowsAsArray: false,
  });
  const [row] = rows;
  if (Number(row?.held) === 1) return String(row?.name);
  throw new SessionStoreError(
    'session_unavailable',
    `Another migration of the table ${table} did not end within ${LOCK_SECONDS} seconds: try again later.`,
  );
}
