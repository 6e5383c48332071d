import { SessionStoreError } from '@x/core';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from './connection.js';

/**
 * `migrations[n]` brings the tables from version n to n + 1, in one transaction. Never change one that was released: add
 * another.
 *
 * Ids of any length are found by their hash: an entry of an index has 2 704 bytes at most. Heads and messages are JSON as
 * text, since a column of JSON would change them. What every commit changes stands last: PostgreSQL logs a row from there,
 * and an entry of each index, so there is none that nothing is found by.
 */
const migrations: readonly ((table: string) => string)[] = [
  (table) => `
    CREATE TABLE ${table} (
      id BIGINT GENERATED ALWAYS AS IDENTITY,
      key_hash BYTEA PRIMARY KEY,
      session_key TEXT NOT NULL,
      tenant_hash BYTEA,
      user_hash BYTEA,
      agent_hash BYTEA,
      session_hash BYTEA NOT NULL,
      created_at TIMESTAMPTZ(3) NOT NULL,
      description TEXT NOT NULL,
      head TEXT NOT NULL,
      version BIGINT NOT NULL,
      message_count INTEGER NOT NULL,
      bytes BIGINT NOT NULL,
      token TEXT NOT NULL,
      earlier TEXT NOT NULL,
      updated_at TIMESTAMPTZ(3) NOT NULL,
      expires_at TIMESTAMPTZ(3)
    );
    CREATE INDEX ON ${table} (updated_at, id);
    CREATE INDEX ON ${table} (user_hash, updated_at, id);
    CREATE INDEX ON ${table} (tenant_hash, updated_at, id) WHERE tenant_hash IS NOT NULL;
    CREATE INDEX ON ${table} (session_hash);
    CREATE TABLE ${table}_messages (
      session_id BIGINT NOT NULL,
      seq INTEGER NOT NULL,
      message TEXT NOT NULL,
      PRIMARY KEY (session_id, seq)
    );
    CREATE TABLE ${table}_leases (
      key_hash BYTEA PRIMARY KEY,
      fence BIGINT NOT NULL,
      holder TEXT,
      expires_at TIMESTAMPTZ NOT NULL
    );`,
];

/** Creates the tables or brings them up to date. Who does it at the same time waits for the lock of the transaction. */
export async function migrateTables(pool: Pool, table: string): Promise<void> {
  await inTransaction(pool, (connection) => migrate(connection, table));
}

async function migrate(connection: PoolClient, table: string): Promise<void> {
  await connection.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`x:${table}`]);
  await connection.query(`CREATE TABLE IF NOT EXISTS ${table}_schema (version INTEGER NOT NULL)`);
  const { rows } = await connection.query(`SELECT version FROM ${table}_schema`);
  const current = Number(rows[0]?.version ?? 0);
  if (current > migrations.length) {
    throw new SessionStoreError(
      'session_newer',
      `The table ${table} is of version ${current}, newer than this package knows (${migrations.length}): upgrade ` +
        '@x/session-postgres.',
    );
  }
  for (const migration of migrations.slice(current)) await connection.query(migration(table));
  await connection.query(`DELETE FROM ${table}_schema`);
  await connection.query(`INSERT INTO ${table}_schema VALUES (${migrations.length})`);
}
