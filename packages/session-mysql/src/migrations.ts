/**
 * `migrations[n]` brings the tables from version n to n + 1. DDL commits by itself, so every statement must be harmless
 * when it runs again after a crash; to add a column that is there already counts as done. Never change one that was released: add another.
 *
 * Ids of any length are found by their hash; InnoDB could not index them whole. Messages lie in the order of their
 * sessions, so that loading one is one range of the primary key.
 */
export const migrations: readonly ((table: string) => readonly string[])[] = [
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
