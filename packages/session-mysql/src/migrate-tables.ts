import { SessionStoreError } from '@x/core';
import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import { createAppendProcedure } from './append-procedure.js';
import { checkPool } from './execute.js';

/**
 * `migrations[n]` brings the tables from version n to n + 1. DDL commits by itself, so every statement must be harmless
 * when it runs again after a crash; to add a column that is there already counts as done. Never change one that was released: add another.
 *
 * Ids of any length are found by their hash; InnoDB could not index them whole. Messages lie in the order of their
 * sessions, so that loading one is one range of the primary key.
 */
const migrations: readonly ((table: string) => readonly string[])[] = [
  (table) => [
    `CREATE TABLE IF NOT EXISTS \`${table}\` (
      id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
      key_hash BINARY(32) NOT NULL,
      session_key MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      tenant_hash BINARY(16) NULL,
      user_hash BINARY(16) NULL,
      agent_hash BINARY(16) NULL,
      session_hash BINARY(16) NOT NULL,
      version BIGINT UNSIGNED NOT NULL,
      message_count INT UNSIGNED NOT NULL,
      head LONGTEXT NOT NULL,
      operation BINARY(12) NOT NULL,
      updated_at DATETIME(3) NOT NULL,
      UNIQUE KEY by_key (key_hash),
      KEY by_tenant (tenant_hash),
      KEY by_user (user_hash),
      KEY by_agent (agent_hash),
      KEY by_session (session_hash)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    `CREATE TABLE IF NOT EXISTS \`${table}_messages\` (
      session_id BIGINT UNSIGNED NOT NULL,
      seq INT UNSIGNED NOT NULL,
      message LONGTEXT NOT NULL,
      PRIMARY KEY (session_id, seq)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  ],
  (table) => [
    `CREATE TABLE IF NOT EXISTS \`${table}_leases\` (
      key_hash BINARY(32) NOT NULL PRIMARY KEY,
      fence BIGINT UNSIGNED NOT NULL,
      holder BINARY(12) NULL,
      renewals INT UNSIGNED NOT NULL,
      expires_at DATETIME(3) NOT NULL,
      KEY by_time (expires_at)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  ],
  // The commits before the last, so that one that is sent again is known.
  (table) => [...withoutDays(table), ...added(table, `earlier VARBINARY(42) NOT NULL DEFAULT ''`)],
  // What a listing shows, and its order.
  (table) => [
    ...withoutDays(table),
    ...added(
      table,
      'created_at DATETIME(3) NULL',
      'bytes BIGINT UNSIGNED NOT NULL DEFAULT 0',
      'description MEDIUMTEXT NULL',
    ),
    `ALTER TABLE \`${table}\` ADD KEY by_time (updated_at), ADD KEY by_user_and_time (user_hash, updated_at),
      ADD KEY by_tenant_and_time (tenant_hash, updated_at), DROP KEY by_user, DROP KEY by_tenant, ALGORITHM=INPLACE, LOCK=NONE`,
  ],
];

/** A release had a generated column with an index: while there is one, MariaDB copies the table to add a column. */
function withoutDays(table: string): readonly string[] {
  return [
    `ALTER TABLE \`${table}\` DROP KEY by_day, ALGORITHM=INPLACE, LOCK=NONE`,
    `ALTER TABLE \`${table}\` DROP COLUMN updated_on, ALGORITHM=INSTANT`,
  ];
}

function added(table: string, ...columns: readonly string[]): readonly string[] {
  return columns.map((column) => `ALTER TABLE \`${table}\` ADD COLUMN ${column}, ALGORITHM=INSTANT`);
}

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
