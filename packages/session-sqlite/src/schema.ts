import type { Database } from 'better-sqlite3';

/**
 * `migrations[n]` brings a file from version n to n + 1; the file knows its version (`PRAGMA user_version`). Never change one
 * that was released: add another.
 *
 * Keys are ASCII text, and so are the parts by which sessions are listed. Times are milliseconds since 1970. Messages have row
 * ids: in a table without, SQLite puts what exceeds a quarter of a page on pages of its own, and 1.5 KB take 4.5.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE sessions (
     id INTEGER PRIMARY KEY,
     key TEXT NOT NULL UNIQUE,
     tenant TEXT NOT NULL,
     user TEXT NOT NULL,
     agent TEXT NOT NULL,
     session TEXT NOT NULL,
     version INTEGER NOT NULL,
     message_count INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     description TEXT NOT NULL,
     operations TEXT NOT NULL,
     head TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     expires_at INTEGER
   );
   CREATE INDEX by_time ON sessions (updated_at);
   CREATE INDEX by_user ON sessions (user, updated_at);
   CREATE INDEX by_tenant ON sessions (tenant, updated_at) WHERE tenant <> '';
   CREATE INDEX by_session ON sessions (session);
   CREATE INDEX by_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL;
   CREATE TABLE messages (
     session_id INTEGER NOT NULL,
     seq INTEGER NOT NULL,
     message TEXT NOT NULL,
     PRIMARY KEY (session_id, seq)
   );
   CREATE TABLE leases (
     key TEXT PRIMARY KEY,
     fence INTEGER NOT NULL,
     holder TEXT NOT NULL,
     expires_at INTEGER NOT NULL
   ) WITHOUT ROWID;`,
];

/** The version that a file has. */
export function versionOf(database: Database): number {
  return Number(database.pragma('user_version', { simple: true }));
}

/** Brings a file up to date, in a transaction that others wait for. */
export function migrate(database: Database): void {
  for (const migration of migrations.slice(versionOf(database))) {
    database.exec(migration);
    database.pragma(`user_version = ${versionOf(database) + 1}`);
  }
}
