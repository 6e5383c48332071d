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
import { SessionStoreError, XError } from '@x/core';
import {
  errorText,
  isSqliteMissing,
  loadSqlite,
  namedValues,
  type OpenSqlite,
  type RunSql,
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteValue,
  type SqlResult,
  type SqlRow,
  type SqlValues,
  sqliteCode,
} from '@x/core/internal';
import { prepare } from './schema.js';

const bind = namedValues();

/** System error codes for a file or disk that this process may only read. */
const READ_ONLY: ReadonlySet<string> = new Set(['EROFS', 'EACCES', 'EPERM']);
const load = createRequire(import.meta.url);
/** Maximum milliseconds for which an attempt to lock the file blocks this process. `PAUSE_MS`: the average pause before the next attempt. */
const BUSY_MS = 20;
const PAUSE_MS = 10;
/** WAL pages after which SQLite runs a checkpoint. A quarter of SQLite's default keeps the WAL small, at no measurable cost. */
const LOG_PAGES = 256;
/** Bytes of the reserve file next to the database: twice the WAL. The file is deleted when the disk is full. */
const RESERVE_BYTES = 2 * LOG_PAGES * 4096;
const RESERVE_MARK = Buffer.from('room that @x/session-sqlite keeps for a full disk\n');
/** Largest database in bytes that is rewritten on close. Rewriting 64 MB takes a fraction of a second. */
const WRITTEN_ANEW_BYTES = 64 * 1024 ** 2;

/**
 * Opens the database of sessions, and creates its tables in an empty file.
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
    throw toStoreError(file, error);
  }
}

function open(file: string, synchronous: 'full' | 'normal', lockTimeoutMs: number): SqliteDatabase {
  // Load the driver first, so that a missing driver leaves no empty file.
  const openSqlite = loadSqlite(load);
  if (file !== ':memory:') {
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      // SQLite gives its companion files the same mode.
      closeSync(openSync(file, 'a', 0o600));
    } catch (error) {
      if (!existsSync(file) || !READ_ONLY.has(String((error as NodeJS.ErrnoException).code))) throw error;
      return openCopy(file, openSqlite);
    }
  }
  const database = openSqlite(file, { busyTimeoutMs: lockTimeoutMs });
  try {
    // Check the format first, so that a file of another format is not changed.
    prepare(database);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec(`PRAGMA synchronous = ${synchronous}`);
    database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
    // Overwrite deleted data, so that it does not stay readable in free pages.
    database.exec('PRAGMA secure_delete = ON');
    if (file !== ':memory:') reserve(file, RESERVE_BYTES);
    // From here on, waiting for another transaction must not block the event loop.
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens a copy of a read-only database, because even a reader of SQLite needs to create files next to the database. */
function openCopy(file: string, openSqlite: OpenSqlite): SqliteDatabase {
  const directory = mkdtempSync(join(tmpdir(), 'x-sessions-'));
  try {
    const copy = join(directory, 'sessions.db');
    for (const suffix of ['', '-wal'])
      if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
    const database = openSqlite(copy, { name: file });
    // SQLite now has the files open, so their directory can be deleted.
    prepare(database);
    database.exec('PRAGMA query_only = ON');
    return database;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Reserves space on the disk. Does nothing if the disk is full, the space is already reserved, or another program made the file. */
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

/** Returns the size of the reserve file, 0 if there is none, or `undefined` if another program made the file. */
function ownSize(path: string): number | undefined {
  try {
    if (!existsSync(path)) return 0;
    const start = Buffer.alloc(RESERVE_MARK.length);
    const handle = openSync(path, 'r');
    try {
      const read = readSync(handle, start);
      // Empty: the process ended before it wrote the mark.
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

/** An open database of sessions. Runs the tasks of this process one after the other, because they share one connection. */
export class SessionFile {
  readonly database: SqliteDatabase;
  /** `true` if sessions were deleted. The file may still contain copies of them. */
  hasDeleted = false;
  readonly #lockTimeoutMs: number;
  /** Caches prepared statements by text, because preparing a statement takes as long as running it. */
  readonly #prepared = new Map<string, SqliteStatement>();
  /** Settles when the last requested task is done. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: SqliteDatabase, lockTimeoutMs: number) {
    this.database = database;
    this.#lockTimeoutMs = lockTimeoutMs;
  }

  /** Runs a statement outside of transactions. */
  readonly run: RunSql = (statement, values) => this.#inTurn(() => this.#execute(statement, values));

  /** Runs a task in a transaction, which is rolled back if the task throws. */
  transaction<T>(
    task: (run: RunSql) => Promise<T>,
    mode: 'deferred' | 'immediate' = 'immediate',
  ): Promise<T> {
    return this.#inTurn(async () => {
      this.database.exec(`BEGIN ${mode}`);
      try {
        const value = await task((statement, values) => this.#execute(statement, values));
        this.database.exec('COMMIT');
        return value;
      } catch (error) {
        this.database.rollback();
        throw error;
      }
    });
  }

  /**
   * Runs a deletion in a transaction, and empties the WAL, which may contain pages from before it. If the disk is full, frees the
   * reserve, runs the deletion again, and reserves half of the space again.
   */
  async deletion<T>(task: (run: RunSql) => Promise<T>): Promise<T> {
    const { database } = this;
    try {
      const value = await this.transaction(task);
      await this.#inTurn(async () => emptyLog(database));
      return value;
    } catch (error) {
      const code = sqliteCode((error as Error).cause);
      if (code !== 'SQLITE_FULL' && code !== 'SQLITE_IOERR') throw error;
    }
    const path = reserveOf(database.file);
    if (ownSize(path)) rmSync(path, { force: true });
    // Overwriting deleted data would need the same space again.
    database.exec('PRAGMA secure_delete = FAST');
    try {
      return await this.transaction(task);
    } finally {
      database.exec('PRAGMA secure_delete = ON');
      emptyLog(database);
      // The other half is for the WAL of the sessions' next commits.
      reserve(database.file, RESERVE_BYTES / 2);
    }
  }

  /** Closes the file after `sweep`, which deletes what processes left that have ended. */
  async close(sweep: (run: RunSql) => Promise<boolean>): Promise<void> {
    if (!this.database.isOpen) return;
    // If another process prevents the cleanup, a later deletion or close does it.
    if (await this.transaction(sweep).catch(() => false)) this.hasDeleted = true;
    await this.#inTurn(async () => {
      if (this.hasDeleted) writeAnew(this.database);
      this.database.close();
    });
  }

  async #execute(statement: string, values: SqlValues): Promise<SqlResult> {
    const bound = bind(statement, { ...values, now: Date.now() });
    const prepared = this.#prepared.get(bound.text) ?? this.database.prepare(bound.text);
    this.#prepared.set(bound.text, prepared);
    const parameters = bound.values as readonly SqliteValue[];
    if (!/^\s*(?:SELECT|WITH)|\bRETURNING\b/.test(statement))
      return { rows: [], changed: prepared.run(...parameters).changes };
    const rows = prepared.all<SqlRow>(...parameters);
    return { rows, changed: rows.length };
  }

  /** Runs a task after all earlier ones. While another process has locked the file, waits without blocking and tries again. */
  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#lockTimeoutMs;
    for (;;) {
      const turn = this.#last.then(task);
      this.#last = turn.catch(() => {});
      try {
        return await turn;
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw toStoreError(this.database.file, error);
      }
      await sleep(PAUSE_MS * (0.5 + Math.random()));
    }
  }
}

/** Empties the WAL. */
function emptyLog(database: SqliteDatabase): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Another connection still reads the WAL. A later deletion or the close empties it.
  }
}

/**
 * Rewrites the file unless it is large. Deleted rows are overwritten anyway, but not the copies that SQLite left behind when it moved
 * rows to another page.
 */
function writeAnew(database: SqliteDatabase): void {
  try {
    const [pages, size] = ['page_count', 'page_size'].map((name) => database.pragma(name));
    if (Number(pages) * Number(size) > WRITTEN_ANEW_BYTES) return;
    database.exec('VACUUM');
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Another process uses the file. A later deletion or close tries again.
  }
}

/** Tests if another process has locked the file. */
function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED';
}

/** Converts an error to a `SessionStoreError`. SQLite's transactions either commit or report a failure, so nothing was written. */
function toStoreError(file: string, error: unknown): unknown {
  if (XError.isInstance(error) && !isSqliteMissing(error)) return error;
  const code = sqliteCode(error);
  const isDamaged = code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB';
  const free = code === 'SQLITE_FULL' ? ' Delete sessions. If that fails, first free 2 MB on the disk.' : '';
  const remedy = isDamaged ? ' Restore it from a backup.' : free;
  return new SessionStoreError(
    isDamaged ? 'session_corrupt' : 'session_unavailable',
    `The session database ${file} ${isDamaged ? 'is damaged' : 'could not be read or written'}: ${errorText(error)}. Nothing was written.${remedy}`,
    { cause: error, outcome: 'none', isTransient: isBusy(error) },
  );
}
