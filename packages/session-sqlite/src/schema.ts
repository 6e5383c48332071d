import { SessionStoreError } from '@x/core';
import { checkFormat, SQL_FORMAT, type SqliteDatabase } from '@x/core/internal';

/**
 * Keys and the parts by which sessions are listed are ASCII text. The key of a record in a collection is `<collection>:<key>`. Times
 * are milliseconds since 1970. Messages have row ids, because without them SQLite moves rows of more than a quarter of a page to
 * overflow pages, and 1.5 KB take 4.5 KB. Fences grow even after a lease was deleted, and start with the time in microseconds, so that
 * they grow when sessions move to another file. `PRAGMA user_version` has the format; it is 0 in an empty file.
 */
const SCHEMA = `CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    collection TEXT NOT NULL,
    tenant TEXT,
    user TEXT,
    agent TEXT,
    session TEXT NOT NULL,
    version INTEGER NOT NULL,
    message_count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    description TEXT NOT NULL,
    token TEXT NOT NULL,
    earlier TEXT NOT NULL,
    head TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  );
  CREATE INDEX by_time ON sessions (updated_at);
  CREATE INDEX by_user ON sessions (user, collection, updated_at);
  CREATE INDEX by_tenant ON sessions (tenant, collection, updated_at) WHERE tenant IS NOT NULL;
  CREATE INDEX by_session ON sessions (collection, session);
  CREATE TABLE messages (
    session_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
  );
  CREATE TABLE leases (
    fence INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    claim TEXT NOT NULL
  );
  CREATE TABLE processes (
    id TEXT PRIMARY KEY,
    beats INTEGER NOT NULL,
    notes TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started TEXT NOT NULL
  ) WITHOUT ROWID;
  PRAGMA user_version = ${SQL_FORMAT};`;

/**
 * Creates the tables in an empty file. If two processes do so at once, one waits for the other.
 *
 * @throws {SessionStoreError} `session_older` or `session_newer` for another format, `session_corrupt` for a file of another program.
 */
export function prepare(database: SqliteDatabase): void {
  if (isEmpty(database)) {
    const fences = `INSERT INTO sqlite_sequence (name, seq) VALUES ('leases', ${Date.now() * 1000});`;
    database.transaction('immediate', () => isEmpty(database) && database.exec(SCHEMA + fences));
  }
  checkFormat(`The file ${database.file}`, formatOf(database), SQL_FORMAT, '@x/session-sqlite');
  const tables = database
    .prepare(`SELECT name FROM sqlite_master WHERE name IN ('sessions', 'messages', 'leases', 'processes')`)
    .all();
  if (tables.length === 4) return;
  const text = `The file ${database.file} is not a database of sessions. Nothing was changed. Use another file.`;
  throw new SessionStoreError('session_corrupt', text);
}

function isEmpty(database: SqliteDatabase): boolean {
  const tables = database.prepare('SELECT name FROM sqlite_master LIMIT 1').all();
  return tables.length === 0 && formatOf(database) === 0;
}

function formatOf(database: SqliteDatabase): number {
  return Number(database.pragma('user_version'));
}
