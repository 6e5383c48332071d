import { mkdir, open, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import {
  errorText,
  isSqliteMissing,
  loadSqlite,
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteValue,
  type SqliteValues,
  sqliteCode,
} from '@x/core/internal';
import { MemoryIndexError } from '../errors.js';

const load = createRequire(import.meta.url);

/** Version of the schema below. An index with another version is rebuilt. */
const SCHEMA_VERSION = 1;
/** "Xmem" in the file header: identifies a SQLite file as an index. */
const APPLICATION_ID = 0x586d656d;
const APPLICATION_ID_OFFSET = 68;
/** Size of the file's first page, which contains the schema. */
const PAGE_SIZE = 4_096;
/** Upper limit of SQLite's page cache, in kilobytes. */
const CACHE_KILOBYTES = 32_000;
/** Percentage of deleted entries at which FTS5 rewrites a segment. Its default, 10, rewrites too often. */
const DELETED_PERCENT = 50;
/** SQLite waits this long for a lock, synchronously. Longer waits are asynchronous. */
const BUSY_TIMEOUT_MS = 20;
const RETRY_MS = 30;
const PATIENCE_MS = 30_000;

/**
 * Lines are in a table, and their terms in a full-text index that stores no text. SQLite only splits the terms at spaces. `mark` shows
 * whether a file must be read again, `hash` whether its text has changed.
 */
const LINE_TERMS = 'CREATE VIRTUAL TABLE line_terms USING fts5';
const SCHEMA = `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    prefix TEXT NOT NULL UNIQUE,
    lines INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    scope_id INTEGER NOT NULL,
    path TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,
    mark TEXT
  );
  CREATE TABLE lines (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    day INTEGER,
    content TEXT NOT NULL
  );
  CREATE INDEX lines_by_file ON lines (file_id, number);
  ${LINE_TERMS} (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'"
  );
  -- Turns off automatic merging, which would merge everything at once. LineWriter merges in small steps.
  INSERT INTO line_terms (line_terms, rank) VALUES ('deletemerge', ${DELETED_PERCENT}), ('automerge', 0);`;
const TABLES = ['line_terms', 'lines', 'files', 'scopes', 'settings'];

/**
 * Opens or creates an index. A damaged index is rebuilt. SQLite is loaded here and nowhere else.
 * @throws {MemoryIndexError} if the file is not an index, or SQLite cannot be used.
 */
export async function openIndexDatabase(path: string, { readOnly = false } = {}): Promise<SqliteDatabase> {
  return attempt(path, readOnly)
    .catch(async (error: unknown) => {
      if (readOnly || !isDamage(error) || !(await isOwn(path))) throw error;
      await deleteIndexFile(path);
      return attempt(path, readOnly);
    })
    .catch((error: unknown) => {
      throw unusable(path, error);
    });
}

/** A connection: statements, prepared on first use, and transactions, one after the other. */
export class Connection {
  readonly #database: SqliteDatabase;
  #idle: Promise<unknown> = Promise.resolve();
  readonly #known = new Map<string, SqliteStatement>();

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  /** Runs a task in a transaction after all earlier ones. If the task throws, the transaction is rolled back. */
  transaction<T>(begin: 'BEGIN' | 'BEGIN IMMEDIATE', task: () => Promise<T> | T): Promise<T> {
    const result = this.#idle.then(async () => {
      await this.#exec(begin);
      try {
        const value = await task();
        await this.#exec('COMMIT');
        return value;
      } catch (error) {
        this.#database.rollback();
        throw error;
      }
    });
    this.#idle = result.catch(() => {});
    return result;
  }

  /** Commits the work of the running transaction so far. */
  async commitPart(): Promise<void> {
    await this.#exec('COMMIT');
    // Let other connections write.
    await setTimeout(0);
    await this.#exec('BEGIN IMMEDIATE');
  }

  /** Writes the write-ahead log back to the file and empties it. */
  async checkpoint(): Promise<void> {
    await this.transaction('BEGIN IMMEDIATE', () => {});
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** Closes the database when no transaction is open. */
  async close(): Promise<void> {
    await this.#idle;
    this.#database.close();
  }

  #exec(sql: string): Promise<unknown> {
    return patiently(() => this.#database.exec(sql));
  }

  run(sql: string, ...values: SqliteValues): void {
    this.#prepared(sql).run(...values);
  }

  rows<Row>(sql: string, ...values: SqliteValues): Row[] {
    return this.#prepared(sql).all<Row>(...values);
  }

  /** Returns the first column of all rows. */
  column<Cell extends SqliteValue>(sql: string, ...values: SqliteValues): Cell[] {
    return this.#prepared(sql).column<Cell>(...values);
  }

  #prepared(sql: string): SqliteStatement {
    const statement = this.#known.get(sql) ?? this.#database.prepare(sql);
    this.#known.set(sql, statement);
    return statement;
  }
}

/** Tests if an error says that the file is corrupt. */
export function isDamage(error: unknown): boolean {
  return (
    /^SQLITE_(?:CORRUPT|NOTADB)$/.test(codeOf(error)) || /^vtable constructor failed/.test(errorText(error))
  );
}

/** Tests if an error says that the file cannot become an index: a read-only folder, a full disk, or a file of another kind. */
export function isUnwritable({ cause }: MemoryIndexError): boolean {
  const sqlite = 'SQLITE_(?:READONLY|CANTOPEN|FULL|IOERR|NOTADB|CORRUPT)';
  return new RegExp(`^(?:EACCES|EPERM|EROFS|EISDIR|ENOSPC|EDQUOT|${sqlite})`).test(codeOf(cause));
}

function codeOf(error: unknown): string {
  return sqliteCode(error) ?? (error instanceof Error && 'code' in error ? String(error.code) : '');
}

/** Retries for 30 seconds while another connection writes, without blocking this process. */
async function patiently<T>(task: () => T): Promise<T> {
  for (let waited = 0; ; waited += RETRY_MS + BUSY_TIMEOUT_MS) {
    try {
      return task();
    } catch (error) {
      if (codeOf(error) !== 'SQLITE_BUSY' || waited >= PATIENCE_MS) throw error;
      await setTimeout(RETRY_MS);
    }
  }
}

export async function deleteIndexFile(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(`${path}${suffix}`, { force: true });
}

async function attempt(path: string, readOnly: boolean): Promise<SqliteDatabase> {
  // Load SQLite before the file is created, so that a failure leaves no empty file.
  const openSqlite = loadSqlite(load);
  const inMemory = path === ':memory:';
  if (!inMemory && !readOnly) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite creates its journal files with the same mode.
    await (await open(path, 'a', 0o600)).close();
  }
  const database = openSqlite(path, { readOnly, busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    database.exec(`PRAGMA cache_size = ${-CACHE_KILOBYTES}`);
    const programs = database
      .prepare(`SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view')`)
      .all();
    if (programs.length > 0) {
      const message = `The database ${path} has triggers or views, so it is not a memory index. Delete it: it is rebuilt from the memory files.`;
      throw new MemoryIndexError(path, message);
    }
    if (!readOnly) {
      await patiently(() => database.exec('PRAGMA journal_mode = WAL'));
      // A machine crash may lose the last changes. The next indexing restores them.
      database.exec('PRAGMA synchronous = NORMAL');
      // Overwrites deleted content with zeros.
      database.exec('PRAGMA secure_delete = ON');
      const make = () => database.transaction('immediate', () => prepare(database, path));
      if (!isCurrent(database)) await patiently(make);
    }
    // Fails if the full-text index cannot be opened.
    database.prepare('SELECT rowid FROM line_terms LIMIT 1').get();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function isMarked(database: SqliteDatabase): boolean {
  return database.pragma('application_id') === APPLICATION_ID;
}

function isCurrent(database: SqliteDatabase): boolean {
  return isMarked(database) && database.pragma('user_version') === SCHEMA_VERSION;
}

function prepare(database: SqliteDatabase, path: string): void {
  if (isCurrent(database)) return;
  const tables = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all();
  if (!isMarked(database) && tables.length > 0) {
    throw new MemoryIndexError(path, `The database ${path} is not a memory index. Use another path.`);
  }
  for (const table of TABLES) database.exec(`DROP TABLE IF EXISTS ${table}`);
  database.exec(SCHEMA);
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

/** Tests whether the header or the tables identify the file as an index. Other files are never deleted. */
async function isOwn(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(PAGE_SIZE), 0, PAGE_SIZE, 0);
    return buffer.readUInt32BE(APPLICATION_ID_OFFSET) === APPLICATION_ID || buffer.includes(LINE_TERMS);
  } finally {
    await file.close();
  }
}

function unusable(path: string, error: unknown): MemoryIndexError {
  if (MemoryIndexError.isInstance(error)) return error;
  const remedy = isSqliteMissing(error)
    ? ''
    : codeOf(error) === 'SQLITE_BUSY'
      ? ' Another process has locked it. Try again later.'
      : ' Use another path, or delete the file: it is rebuilt from the memory files.';
  return new MemoryIndexError(
    path,
    `The memory index ${path} cannot be opened: ${errorText(error)}.${remedy}`,
    error,
  );
}
