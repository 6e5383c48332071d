import { SessionStoreError } from '@x/core';
import { checkFormat, SQL_FORMAT } from '@x/core/internal';
import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import { checkPool, execute } from './execute.js';

/**
 * DDL statements commit implicitly, so every statement must be safe to repeat after a crash. The format is written last.
 *
 * Sessions are found by the hash of their key, because InnoDB cannot index keys of any length. Messages are stored in the order of
 * their sessions, so that a load reads one range of the primary key. `tail` contains the newest messages, which have no row yet.
 */
const schemaOf = (table: string): readonly string[] => [
  `CREATE TABLE IF NOT EXISTS \`${table}\` (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    key_hash BINARY(32) NOT NULL,
    collection VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    session_key MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    tenant_hash BINARY(16) NULL,
    user_hash BINARY(16) NULL,
    agent_hash BINARY(16) NULL,
    session_hash BINARY(16) NOT NULL,
    version BIGINT UNSIGNED NOT NULL,
    message_count INT UNSIGNED NOT NULL,
    bytes BIGINT UNSIGNED NOT NULL,
    head LONGTEXT NOT NULL,
    description MEDIUMTEXT NOT NULL,
    tail LONGTEXT NOT NULL,
    operation BINARY(12) NOT NULL,
    earlier VARBINARY(42) NOT NULL DEFAULT '',
    created_at DATETIME(3) NOT NULL,
    updated_at DATETIME(3) NOT NULL,
    UNIQUE KEY by_key (key_hash),
    KEY by_time (updated_at),
    KEY by_user_and_time (user_hash, collection, updated_at),
    KEY by_tenant_and_time (tenant_hash, collection, updated_at),
    KEY by_agent (agent_hash),
    KEY by_session (collection, session_hash)
  ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  `CREATE TABLE IF NOT EXISTS \`${table}_messages\` (
    session_id BIGINT UNSIGNED NOT NULL,
    seq INT UNSIGNED NOT NULL,
    message LONGTEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
  ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  `CREATE TABLE IF NOT EXISTS \`${table}_leases\` (
    key_hash BINARY(32) NOT NULL PRIMARY KEY,
    fence BIGINT UNSIGNED NOT NULL,
    process VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
    claim VARCHAR(1024) CHARACTER SET ascii COLLATE ascii_bin NULL,
    taken_at DATETIME(3) NOT NULL
  ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  `CREATE TABLE IF NOT EXISTS \`${table}_processes\` (
    id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    beats BIGINT UNSIGNED NOT NULL,
    notes LONGTEXT NOT NULL,
    expires_at DATETIME(3) NOT NULL
  ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  `REPLACE INTO \`${table}_format\` (id, format) VALUES (1, ${SQL_FORMAT})`,
];

/** Seconds that one `createTables` call waits for another one to end. */
const LOCK_SECONDS = 60;

/**
 * Creates missing tables. Processes that call this at the same time wait for each other. The lock belongs to the connection and ends
 * with it.
 *
 * @param format The statement that reads the format of the tables.
 */
export async function createTables(pool: Pool, table: string, format: string): Promise<void> {
  await checkPool(pool);
  const connection = await pool.getConnection();
  try {
    const name = await lock(connection, table);
    try {
      await create(connection, table, format);
    } finally {
      await connection.query('DO RELEASE_LOCK(?)', [name]);
    }
    connection.release();
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function create(connection: PoolConnection, table: string, format: string): Promise<void> {
  await connection.query(
    `CREATE TABLE IF NOT EXISTS \`${table}_format\`
     (id TINYINT NOT NULL PRIMARY KEY, format INT UNSIGNED NOT NULL) ENGINE = InnoDB`,
  );
  const [found] = await execute<RowDataPacket[]>(connection, format, []);
  if (found) return checkFormat(`The table ${table}`, Number(found.format), SQL_FORMAT, '@x/session-mysql');
  for (const statement of schemaOf(table)) await connection.query(statement);
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
    `Another process was still creating the table ${table} after ${LOCK_SECONDS} seconds. Try again later.`,
  );
}
