import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import { MemoryIndexError } from './memory-index-error.js';

/** The version of the tables below. An index of another version is made anew. */
const SCHEMA_VERSION = 1;
/** "Xmem": tells an index from any other database. */
const APPLICATION_ID = 0x586d656d;

/**
 * Lines stand in a table, their terms in a full-text index that keeps no text of its own. Terms are made by `termsOf`;
 * SQLite only stems them (Porter, "An algorithm for suffix stripping", 1980).
 */
const SCHEMA = `
  CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, hash TEXT NOT NULL);
  CREATE TABLE lines (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    content TEXT NOT NULL
  );
  CREATE INDEX lines_by_file ON lines (file_id, number);
  CREATE VIRTUAL TABLE line_terms USING fts5 (
    terms, content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 0 tokenchars '_'"
  );`;

/**
 * Opens or creates an index's database. SQLite is loaded here and nowhere else.
 *
 * @throws {MemoryIndexError} when the file is no index, or SQLite cannot be used.
 */
export async function openIndexDatabase(path: string): Promise<Database> {
  let database: Database | undefined;
  try {
    const { default: Sqlite } = await import('better-sqlite3');
    if (path !== ':memory:') await mkdir(dirname(path), { recursive: true });
    database = new Sqlite(path);
    database.pragma('busy_timeout = 10000');
    database.pragma('journal_mode = WAL');
    // A crash of the machine may cost the last changes, which the next indexing makes again.
    database.pragma('synchronous = NORMAL');
    database.transaction(prepare).immediate(database, path);
    return database;
  } catch (error) {
    database?.close();
    if (MemoryIndexError.isInstance(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new MemoryIndexError(
      path,
      `The memory index ${path} cannot be opened: ${reason}. Use another path, or delete the file: it is made anew from the files it indexes.`,
      error,
    );
  }
}

function prepare(database: Database, path: string): void {
  const version = database.pragma('user_version', { simple: true });
  const application = database.pragma('application_id', { simple: true });
  const tables = database
    .prepare<[], string>(`SELECT name FROM sqlite_master WHERE type = 'table'`)
    .pluck()
    .all();
  if (application !== APPLICATION_ID && tables.length > 0) {
    throw new MemoryIndexError(path, `The database ${path} is no memory index: use another path.`);
  }
  if (application === APPLICATION_ID && version === SCHEMA_VERSION) return;
  for (const table of ['line_terms', 'lines', 'files']) database.exec(`DROP TABLE IF EXISTS ${table}`);
  database.exec(SCHEMA);
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma(`user_version = ${SCHEMA_VERSION}`);
}
