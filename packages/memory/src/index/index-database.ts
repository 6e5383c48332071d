import { existsSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorText } from '@x/core';
import type { Database } from 'better-sqlite3';
import { MemoryIndexError } from '../memory-index-error.js';

/** The version of the tables below. An index of another version is made anew. */
const SCHEMA_VERSION = 3;
/** "Xmem": tells an index from any other database, in its header. */
const APPLICATION_ID = 0x586d656d;
const APPLICATION_ID_OFFSET = 68;
/** So much of the file is kept in memory at most. */
const CACHE_KILOBYTES = 32_000;

/** The full-text index rewrites a part of which so much was deleted; its default, 10, has it do so all the time. */
const DELETED_PERCENT = 50;

/**
 * Lines stand in a table, their terms in a full-text index that keeps no text of its own. They are made by
 * `lineTermsOf`; SQLite only takes them apart at the spaces.
 */
const SCHEMA = `
  CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    prefix TEXT NOT NULL,
    source TEXT NOT NULL,
    lines INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (prefix, source)
  );
  CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    scope_id INTEGER NOT NULL,
    path TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL
  );
  CREATE TABLE lines (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    day INTEGER,
    content TEXT NOT NULL
  );
  CREATE INDEX lines_by_file ON lines (file_id);
  CREATE TABLE log_messages (file_id INTEGER, message_id TEXT, PRIMARY KEY (file_id, message_id)) WITHOUT ROWID;
  CREATE TABLE vectors (
    hash BLOB NOT NULL,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (hash, model)
  ) WITHOUT ROWID;
  CREATE TABLE line_vectors (line_id INTEGER PRIMARY KEY, hash BLOB NOT NULL);
  CREATE TRIGGER line_deleted AFTER DELETE ON lines BEGIN
    DELETE FROM line_vectors WHERE line_id = old.id;
  END;
  CREATE VIRTUAL TABLE line_terms USING fts5 (
    terms, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_+'"
  );
  INSERT INTO line_terms (line_terms, rank) VALUES ('deletemerge', ${DELETED_PERCENT});`;
const TABLES = ['line_terms', 'line_vectors', 'vectors', 'log_messages', 'lines', 'files', 'scopes'];

/**
 * Opens or creates an index's database; one that is damaged is made anew. SQLite is loaded here and nowhere else.
 *
 * @throws {MemoryIndexError} when the file is no index, or SQLite cannot be used.
 */
export async function openIndexDatabase(path: string, { readOnly = false } = {}): Promise<Database> {
  try {
    return await attempt(path, readOnly);
  } catch (error) {
    if (readOnly || !isDamage(error) || !(await isOwn(path))) throw unusable(path, readOnly, error);
    await deleteIndexFile(path);
    return attempt(path, readOnly).catch((again: unknown) => {
      throw unusable(path, readOnly, again);
    });
  }
}

/** Whether an error says that the file's bytes are damaged. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error)) return false;
  return (
    /^SQLITE_(?:CORRUPT|NOTADB)/.test(String(error.code)) || /^vtable constructor failed/.test(error.message)
  );
}

export async function deleteIndexFile(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(`${path}${suffix}`, { force: true });
}

async function attempt(path: string, readOnly: boolean): Promise<Database> {
  const { default: Sqlite } = await import('better-sqlite3');
  const inMemory = path === ':memory:';
  if (!inMemory && !readOnly) await mkdir(dirname(path), { recursive: true });
  const database = new Sqlite(path, { readonly: readOnly });
  try {
    database.pragma('busy_timeout = 10000');
    database.pragma(`cache_size = ${-CACHE_KILOBYTES}`);
    if (!readOnly) {
      database.pragma('journal_mode = WAL');
      // A crash of the machine may cost the last changes, which the next indexing makes again.
      database.pragma('synchronous = NORMAL');
    }
    if (readOnly) assertCurrent(database, path);
    else database.transaction(prepare).immediate(database, path);
    // Fails when the full-text index cannot even be opened.
    database.prepare('SELECT rowid FROM line_terms LIMIT 1').get();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function versionOf(database: Database) {
  const read = (name: string) => database.pragma(name, { simple: true });
  return {
    isOwn: read('application_id') === APPLICATION_ID,
    isCurrent: read('user_version') === SCHEMA_VERSION,
  };
}

function assertCurrent(database: Database, path: string): void {
  const { isOwn, isCurrent } = versionOf(database);
  if (isOwn && isCurrent) return;
  throw new MemoryIndexError(
    path,
    `The memory index ${path} is of another version, or none: open it once without readOnly, which makes it.`,
  );
}

function prepare(database: Database, path: string): void {
  const tables = database
    .prepare<[], string>(`SELECT name FROM sqlite_master WHERE type = 'table'`)
    .pluck()
    .all();
  const { isOwn, isCurrent } = versionOf(database);
  if (!isOwn && tables.length > 0) {
    throw new MemoryIndexError(path, `The database ${path} is no memory index: use another path.`);
  }
  if (isOwn && isCurrent) return;
  for (const table of TABLES) database.exec(`DROP TABLE IF EXISTS ${table}`);
  database.exec(SCHEMA);
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma(`user_version = ${SCHEMA_VERSION}`);
}

/** Whether the header, if nothing else, still says that the file is an index: others' files are never deleted. */
async function isOwn(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, APPLICATION_ID_OFFSET);
    return bytesRead === 4 && buffer.readUInt32BE(0) === APPLICATION_ID;
  } finally {
    await file.close();
  }
}

function unusable(path: string, readOnly: boolean, error: unknown): MemoryIndexError {
  if (MemoryIndexError.isInstance(error)) return error;
  if (readOnly && !existsSync(path)) {
    const message = `There is no memory index ${path} yet: open it once without readOnly, which makes it.`;
    return new MemoryIndexError(path, message, error);
  }
  const reason = errorText(error);
  return new MemoryIndexError(
    path,
    `The memory index ${path} cannot be opened: ${reason}. Use another path, or delete the file: it is made anew from the files it indexes.`,
    error,
  );
}
