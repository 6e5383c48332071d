import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SessionKey, SessionStoreError, XError } from '@x/core';
import Sqlite, { type Database } from 'better-sqlite3';
import { migrate, migrations, versionOf } from './schema.js';

/** How long one attempt blocks this process; then others are let in before the next. */
const BUSY_MS = 20;
const PAUSE_MS = 10;
/** What is written anew in a fraction of a second. */
const WRITTEN_ANEW_BYTES = 64 * 1024 ** 2;

/**
 * Opens the database of sessions, and makes it or brings it up to date.
 *
 * @throws {SessionStoreError} when it cannot be opened, is no database, or was made by a newer release.
 */
export function openDatabase(file: string, synchronous: 'full' | 'normal', lockTimeoutMs: number): Database {
  try {
    return open(file, synchronous, lockTimeoutMs);
  } catch (error) {
    throw toStoreError(undefined, error);
  }
}

function open(file: string, synchronous: 'full' | 'normal', lockTimeoutMs: number): Database {
  if (file !== ':memory:') {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // The files that SQLite makes beside it have its mode.
    closeSync(openSync(file, 'a', 0o600));
  }
  const database = new Sqlite(file, { timeout: lockTimeoutMs });
  try {
    database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${synchronous}`);
    // What is deleted must not stay readable in free pages.
    database.pragma('secure_delete = ON');
    if (versionOf(database) < migrations.length) database.transaction(() => migrate(database)).immediate();
    if (versionOf(database) > migrations.length) {
      const message = `${file} is of version ${versionOf(database)}, newer than this package knows (${migrations.length}): upgrade @x/session-sqlite.`;
      throw new SessionStoreError('session_newer', message);
    }
    // From here on somebody else's transaction is waited for without standing still.
    database.pragma(`busy_timeout = ${BUSY_MS}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Runs a task in a transaction; again, with others let in between, while another process has the file. */
export async function inTransaction<T>(
  database: Database,
  lockTimeoutMs: number,
  key: SessionKey | undefined,
  mode: 'deferred' | 'immediate',
  task: () => T,
): Promise<T> {
  const deadline = performance.now() + lockTimeoutMs;
  for (;;) {
    try {
      return database.transaction(task)[mode]();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw toStoreError(key, error);
    }
    await sleep(PAUSE_MS * (0.5 + Math.random()));
  }
}

/**
 * Writes a file anew unless it is large. Deleted rows are overwritten, but not the copies that stayed behind where SQLite once
 * moved rows to another page.
 */
export function writeAnew(database: Database): void {
  try {
    const [pages, size] = ['page_count', 'page_size'].map((name) => database.pragma(name, { simple: true }));
    if (Number(pages) * Number(size) > WRITTEN_ANEW_BYTES) return;
    database.exec('VACUUM');
    database.pragma('wal_checkpoint(TRUNCATE)');
  } catch {
    // Another process has the file: the next deletion will do.
  }
}

/** Whether another process has the file. */
function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: string }).code));
}

/** A transaction of SQLite happens or does not, and says which. */
function toStoreError(key: SessionKey | undefined, error: unknown): unknown {
  if (XError.isInstance(error)) return error;
  const { code = '', message } = error as { code?: string; message: string };
  const isDamaged = /^SQLITE_(CORRUPT|NOTADB)/.test(code);
  return new SessionStoreError(
    isDamaged ? 'session_corrupt' : 'session_unavailable',
    `The database of sessions ${isDamaged ? 'is damaged; restore it from a backup' : 'could not be read or written'}: ${message}. Nothing was written.`,
    { ...(key && { sessionKey: key.toString() }), cause: error, outcome: 'none' },
  );
}
