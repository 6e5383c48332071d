import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SessionKey, SessionStoreError, XError } from '@x/core';
import {
  errorText,
  isSqliteMissing,
  loadSqlite,
  type OpenSqlite,
  type SqliteDatabase,
  sqliteCode,
} from '@x/core/internal';
import { prepare } from './schema.js';

/** Codes of an error for a file or a disk that this process may read alone. */
const READ_ONLY: ReadonlySet<string> = new Set(['EROFS', 'EACCES', 'EPERM']);
const load = createRequire(import.meta.url);
/** How long one attempt blocks this process; then others are let in before the next. */
const BUSY_MS = 20;
const PAUSE_MS = 10;
/** The pages of the log of writes at which they go to their places; a quarter of what SQLite takes, at no cost that shows. */
const LOG_PAGES = 256;
/** What is beside a database for the day on which the disk is full: the log of writes, twice. */
const RESERVE_BYTES = 2 * LOG_PAGES * 4096;
const RESERVE_MARK = Buffer.from('room that @x/session-sqlite keeps for a full disk\n');
/** What is written again in a fraction of a second. */
const WRITTEN_ANEW_BYTES = 64 * 1024 ** 2;

/**
 * Opens the database of sessions, and makes its tables in an empty file.
 *
 * @throws {SessionStoreError} when it cannot be opened, is not a database, or has another format.
 */
export function openDatabase(
  file: string,
  synchronous: 'full' | 'normal',
  lockTimeoutMs: number,
): SqliteDatabase {
  try {
    return open(file, synchronous, lockTimeoutMs);
  } catch (error) {
    throw toStoreError(file, undefined, error);
  }
}

function open(file: string, synchronous: 'full' | 'normal', lockTimeoutMs: number): SqliteDatabase {
  // Before a file is made that nothing would fill.
  const openSqlite = loadSqlite(load);
  if (file !== ':memory:') {
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      // The files that SQLite makes beside it have its mode.
      closeSync(openSync(file, 'a', 0o600));
    } catch (error) {
      if (!existsSync(file) || !READ_ONLY.has(String((error as NodeJS.ErrnoException).code))) throw error;
      return openCopy(file, openSqlite);
    }
  }
  const database = openSqlite(file, { busyTimeoutMs: lockTimeoutMs });
  try {
    // First: a file of another format is left as it is.
    prepare(database);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec(`PRAGMA synchronous = ${synchronous}`);
    database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
    // What is deleted must not stay readable in free pages.
    database.exec('PRAGMA secure_delete = ON');
    if (file !== ':memory:') reserve(file, RESERVE_BYTES);
    // From here on someone else's transaction is waited for without standing still.
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens a copy of a database that cannot be written to, for reading: SQLite reads by files that it makes beside the database. */
function openCopy(file: string, openSqlite: OpenSqlite): SqliteDatabase {
  const directory = mkdtempSync(join(tmpdir(), 'x-sessions-'));
  try {
    const copy = join(directory, 'sessions.db');
    for (const suffix of ['', '-wal'])
      if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
    const database = openSqlite(copy, { name: file });
    // From here on SQLite has its files open.
    prepare(database);
    database.exec('PRAGMA query_only = ON');
    return database;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Takes so much room on the disk, unless there is none, it is taken, or what has the name was not made here. */
function reserve(file: string, bytes: number): void {
  const path = reserveOf(file);
  const size = ownSize(path);
  if (size === undefined || size >= bytes) return;
  try {
    const filling = randomBytes(bytes - size);
    if (size === 0) RESERVE_MARK.copy(filling);
    writeFileSync(path, filling, { flag: 'a', mode: 0o600 });
  } catch {
    if (size === 0) rmSync(path, { force: true });
    else truncateSync(path, size);
  }
}

/** The size of a reserve, 0 if there is none; `undefined` for a file of someone else, which is left alone. */
function ownSize(path: string): number | undefined {
  try {
    if (!existsSync(path)) return 0;
    const start = Buffer.alloc(RESERVE_MARK.length);
    const handle = openSync(path, 'r');
    try {
      const read = readSync(handle, start);
      // Empty: its process ended before it wrote.
      return read === 0 || start.equals(RESERVE_MARK) ? fstatSync(handle).size : undefined;
    } finally {
      closeSync(handle);
    }
  } catch {
    return undefined;
  }
}

function reserveOf(file: string): string {
  return `${file}-reserve`;
}

/** Runs a deletion; where the disk is full, again in the room that is kept for it, which is taken again at once. */
async function withReserve<T>(database: SqliteDatabase, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    const code = sqliteCode((error as Error).cause);
    if (code !== 'SQLITE_FULL' && code !== 'SQLITE_IOERR') throw error;
  }
  const path = reserveOf(database.file);
  if (ownSize(path)) rmSync(path, { force: true });
  // To overwrite what is deleted takes as much room again.
  database.exec('PRAGMA secure_delete = FAST');
  try {
    return await task();
  } finally {
    database.exec('PRAGMA secure_delete = ON');
    emptyLog(database);
    // The other half is for the log of what sessions continue with.
    reserve(database.file, RESERVE_BYTES / 2);
  }
}

/** Empties the log of writes, which holds pages from before a deletion. */
export function emptyLog(database: SqliteDatabase): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // A reader needs them still. A later deletion empties it, or the close.
  }
}

/** Whether a transaction reads, writes, or frees room. */
export type TransactionMode = 'deferred' | 'immediate' | 'deletion';

/** Runs a task in a transaction; again, with others let in between, while another process has the file. */
export async function inTransaction<T>(
  database: SqliteDatabase,
  lockTimeoutMs: number,
  key: SessionKey | undefined,
  mode: TransactionMode,
  task: () => T,
): Promise<T> {
  if (mode === 'deletion') {
    return withReserve(database, () => inTransaction(database, lockTimeoutMs, key, 'immediate', task));
  }
  const deadline = performance.now() + lockTimeoutMs;
  for (;;) {
    try {
      return database.transaction(mode, task);
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw toStoreError(database.file, key, error);
    }
    await sleep(PAUSE_MS * (0.5 + Math.random()));
  }
}

/**
 * Writes a file again unless it is large. Deleted rows are overwritten, but not the copies that stayed behind where SQLite once
 * moved rows to another page.
 */
export function writeAnew(database: SqliteDatabase): void {
  try {
    const [pages, size] = ['page_count', 'page_size'].map((name) => database.pragma(name));
    if (Number(pages) * Number(size) > WRITTEN_ANEW_BYTES) return;
    database.exec('VACUUM');
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Another process has the file: the next deletion will do.
  }
}

/** Whether another process has the file. */
function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED';
}

/** A transaction of SQLite happens or does not, and says which. */
function toStoreError(file: string, key: SessionKey | undefined, error: unknown): unknown {
  if (XError.isInstance(error) && !isSqliteMissing(error)) return error;
  const code = sqliteCode(error);
  const isDamaged = code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB';
  const remedy =
    code === 'SQLITE_FULL' ? ' Delete sessions; where that fails, too, free 2 MB of the disk first.' : '';
  return new SessionStoreError(
    isDamaged ? 'session_corrupt' : 'session_unavailable',
    `The database of sessions ${file} ${isDamaged ? 'is damaged; restore it from a backup' : 'could not be read or written'}: ${errorText(error)}. Nothing was written.${remedy}`,
    { ...(key && { sessionKey: key.toString() }), cause: error, outcome: 'none' },
  );
}
