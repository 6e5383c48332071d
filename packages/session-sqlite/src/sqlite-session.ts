import type { SessionInfo, SessionKey, SessionScope, SessionStore } from '@x/core';
import {
  decodeSession,
  describeHead,
  hasEnded,
  listRows,
  type ProcessIdentity,
  parseWith,
  type SqliteDatabase,
  type SqliteValue,
  type SqlListing,
  thisProcess,
} from '@x/core/internal';
import {
  asCollection,
  type Committed,
  checkChange,
  checkCommit,
  checkKey,
  claimText,
  collectionName,
  type DeleteOptions,
  heldLease,
  isAnother,
  isKept,
  type ListOptions,
  type LoadOptions,
  lastOption,
  type ProcessNote,
  remember,
  type SessionChange,
  type SessionLeases,
  type SessionProcesses,
  type StoredSession,
  tokenOf,
} from '@x/core/store';
import * as z from 'zod';
import { emptyLog, inTransaction, openDatabase, type TransactionMode, writeAnew } from './database.js';

const optionsSchema = z.strictObject({
  /** Path of the database. A new file is readable by this user only (0600). Creates missing directories. `:memory:` for tests. */
  file: z.string().min(1),
  /**
   * Durability of a commit. `full` (default): waits for the disk, so commits survive a power loss. `normal`: waits for the operating
   * system only, so commits survive a process crash; several times faster on slow disks.
   */
  synchronous: z.enum(['full', 'normal']).default('full'),
  /** Milliseconds that an operation waits for another process's transaction. Default 10 000. */
  lockTimeoutMs: z.number().nonnegative().default(10_000),
});

/** Options of a `SqliteSession`. */
export type SqliteSessionOptions = Readonly<z.input<typeof optionsSchema>>;

/** An open database with its options, shared by a store and its collections. */
interface OpenFile {
  readonly database: SqliteDatabase;
  readonly lockTimeoutMs: number;
  readonly processes: SessionProcesses;
  /** Whether rows were deleted, so that the file may still contain copies of them. */
  hasDeleted: boolean;
}

interface SessionRow {
  readonly id: number;
  readonly version: number;
  readonly message_count: number;
  readonly operations: string;
  readonly bytes: number;
  readonly head: string;
  readonly updated_at: number;
}
interface LeaseRow {
  readonly key: string;
  readonly fence: number;
  readonly claim: string;
}

/** Selects the columns of a listing. The stored key of a record in a collection is `<collection>:<key>`. */
const LISTED = `
  SELECT id, substr(key, instr(key, ':') + 1) AS key, version, message_count AS messages, bytes, description,
    created_at AS createdAt, updated_at AS updatedAt
  FROM sessions`;

/** The sessions of a file, or one of its collections. */
class SqliteRecords implements SessionStore {
  readonly reach = 'host';
  readonly leases: SessionLeases;
  readonly #file: OpenFile;
  readonly #database: SqliteDatabase;
  /** The name of the collection; empty for sessions. */
  readonly #collection: string;

  constructor(file: OpenFile, collection = '') {
    this.#file = file;
    this.#database = file.database;
    this.#collection = collection;
    this.leases = this.#leasesOf(file.processes);
  }

  async load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    const last = lastOption(options) ?? Number.MAX_SAFE_INTEGER;
    return this.#transaction(key, 'deferred', () => {
      const row = this.#row(key);
      if (row === undefined) return undefined;
      const messages = this.#database
        .prepare('SELECT message FROM messages WHERE session_id = ? AND seq >= ? ORDER BY seq')
        .column<string>(row.id, row.message_count - last);
      return decodeSession(key, 'SQLite', {
        token: tokenOf(committed(row)),
        version: row.version,
        count: Math.min(row.message_count, last),
        head: row.head,
        messages,
        updatedAt: new Date(row.updated_at),
      });
    });
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    const head = JSON.stringify(change.head);
    const messages = change.append.map((message) => JSON.stringify(message));
    return this.#transaction(key, 'immediate', () => {
      const row = this.#row(key);
      const stored = row && committed(row);
      const applied = checkCommit(key, change, stored, this.#lease(key)?.fence);
      if (applied !== undefined) return applied;
      const version = (stored?.version ?? 0) + 1;
      const id = this.#put(key, row, {
        version,
        message_count: change.keep + messages.length,
        bytes: messages.reduce((sum, text) => sum + Buffer.byteLength(text), this.#bytesOf(row, change.keep)),
        operations: remember(stored?.operations ?? [], change.operation).join(' '),
        head,
        description: describeHead(change.head),
        updated_at: Date.now(),
      });
      if (change.keep < (stored?.messages ?? 0)) {
        this.#database.prepare('DELETE FROM messages WHERE session_id = ? AND seq >= ?').run(id, change.keep);
      }
      const add = this.#database.prepare('INSERT INTO messages (session_id, seq, message) VALUES (?, ?, ?)');
      for (const [index, message] of messages.entries()) add.run(id, change.keep + index, message);
      return version;
    });
  }

  async delete(key: SessionKey, options: DeleteOptions = {}): Promise<boolean> {
    const { isChanged, existed } = await this.#transaction(key, 'deletion', () => {
      const row = this.#row(key);
      if (isKept(this.#lease(key), options) || isAnother(row && committed(row), options.token))
        return { isChanged: false, existed: false };
      if (row !== undefined) {
        this.#database.prepare('DELETE FROM messages WHERE session_id = ?').run(row.id);
        this.#database.prepare('DELETE FROM sessions WHERE id = ?').run(row.id);
      }
      const leases = this.#database.prepare('DELETE FROM leases WHERE key = ?').run(this.#idOf(key)).changes;
      const isChanged = this.#sweepLeases() + leases > 0 || row !== undefined;
      if (isChanged) this.#file.hasDeleted = true;
      return { isChanged, existed: row !== undefined };
    });
    if (isChanged) emptyLog(this.#database);
    return existed;
  }

  /**
   * Lists the sessions within a scope, newest first. In a listing of all, a session that gets a commit before its turn comes at the
   * end.
   */
  list(scope: SessionScope = {}, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    const listing: SqlListing = {
      select: LISTED,
      suffix: '',
      part: (encoded) => encoded,
      behind: '(updated_at, id) < (:time, CAST(:id AS INTEGER))',
      time: (milliseconds) => milliseconds,
    };
    return listRows(listing, this.#collection, scope, options, (statement, values) =>
      this.#transaction(undefined, 'deferred', () =>
        this.#database.prepare(statement).all(values as Readonly<Record<string, SqliteValue>>),
      ),
    );
  }

  /** Closes the file. A file of up to 64 MB from which sessions were deleted is first rewritten, so that no copies of them remain. */
  async close(): Promise<void> {
    if (this.#database.isOpen) {
      // If another process prevents the cleanup, a later deletion or close does it.
      if (this.#ended().length > 0)
        await this.#transaction(undefined, 'deletion', () => this.#sweepLeases()).catch(() => {});
      if (this.#file.hasDeleted) writeAnew(this.#database);
    }
    this.#database.close();
  }

  collection(name: string): SessionStore {
    return asCollection(new SqliteRecords(this.#file, collectionName(name)), name);
  }

  async *collections(): AsyncGenerator<string, void, undefined> {
    const next = 'SELECT collection FROM sessions WHERE collection > ? ORDER BY collection LIMIT 1';
    for (let last = ''; ; ) {
      const found = await this.#transaction(undefined, 'deferred', () =>
        this.#database.prepare(next).cell<string>(last),
      );
      if (found === undefined) return;
      last = found;
      yield last;
    }
  }

  #leasesOf(processes: SessionProcesses): SessionLeases {
    const held = (key: SessionKey) => {
      const row = this.#lease(key);
      return row && heldLease(row.claim, row.fence);
    };
    const find = (key: SessionKey) => this.#transaction(key, 'deferred', () => held(key));
    return {
      processes,
      take: (key, claim, { over } = {}) =>
        this.#transaction(key, 'immediate', () => {
          const last = held(key);
          if (last !== undefined && last.token !== claim.token && last.fence !== over) return undefined;
          // Larger than the fence of any earlier lease, even if that lease was deleted with its session.
          const largest = this.#database.prepare('SELECT MAX(fence) FROM leases').cell();
          const fence = Math.max(Date.now() * 1000, Number(largest) + 1);
          const write = this.#database.prepare(
            'INSERT OR REPLACE INTO leases (key, fence, claim) VALUES (?, ?, ?)',
          );
          write.run(this.#idOf(key), fence, claimText(claim));
          // The empty key stores the largest fence of all sessions, so that fences grow even after a deletion.
          write.run('', fence, '');
          return fence;
        }),
      confirm: async (key, { token }, fence) => {
        const held = await find(key);
        return held?.fence === fence && held.token === token;
      },
      release: (key, { token }) =>
        this.#transaction(key, 'immediate', () => {
          if (held(key)?.token !== token) return;
          this.#database.prepare('DELETE FROM leases WHERE key = ?').run(this.#idOf(key));
          // Mark the deletion, so that close removes all traces of a session that was never stored.
          if (this.#row(key) === undefined) this.#file.hasDeleted = true;
        }),
      find,
    };
  }

  /** Returns the stored key of a record. */
  #idOf(key: SessionKey): string {
    const prefix = this.#collection === '' ? '' : `${this.#collection}:`;
    return `${prefix}${checkKey(key)}`;
  }

  /** Returns the size of the messages that a change keeps. */
  #bytesOf(row: SessionRow | undefined, keep: number): number {
    if (row === undefined || keep === 0) return 0;
    if (keep === row.message_count) return row.bytes;
    const statement = 'SELECT SUM(OCTET_LENGTH(message)) FROM messages WHERE session_id = ? AND seq < ?';
    return Number(this.#database.prepare(statement).cell(row.id, keep));
  }

  #row(key: SessionKey): SessionRow | undefined {
    return this.#database.prepare('SELECT * FROM sessions WHERE key = ?').get<SessionRow>(this.#idOf(key));
  }

  #lease(key: SessionKey): LeaseRow | undefined {
    return this.#database.prepare('SELECT * FROM leases WHERE key = ?').get<LeaseRow>(this.#idOf(key));
  }

  /** Writes the row of a session, and returns its id. */
  #put(key: SessionKey, row: SessionRow | undefined, values: Record<string, string | number>): number {
    const names = Object.keys(values);
    if (row !== undefined) {
      const assignments = names.map((name) => `${name} = @${name}`).join(', ');
      this.#database
        .prepare(`UPDATE sessions SET ${assignments} WHERE id = @id`)
        .run({ ...values, id: row.id });
      return row.id;
    }
    const [tenant = '', user = '', agent = '', session = ''] = key.toString().split('/');
    const all = {
      ...values,
      key: this.#idOf(key),
      collection: this.#collection,
      tenant,
      user,
      agent,
      session,
      created_at: values.updated_at ?? 0,
    };
    const columns = Object.keys(all);
    return this.#database
      .prepare(
        `INSERT INTO sessions (${columns.join(', ')}) VALUES (${columns.map((name) => `@${name}`).join(', ')})`,
      )
      .run(all).lastInsertRowid;
  }

  /** Returns the keys of leases whose processes have ended. */
  #ended(): readonly string[] {
    const rows = this.#database.prepare(`SELECT * FROM leases WHERE key <> ''`).all() as readonly LeaseRow[];
    return rows.filter(({ claim, fence }) => hasEnded(heldLease(claim, fence))).map(({ key }) => key);
  }

  /** Deletes the leases of processes that have ended, because they contain keys of sessions. Returns their number. */
  #sweepLeases(): number {
    const ended = this.#ended();
    const remove = this.#database.prepare('DELETE FROM leases WHERE key = ?');
    for (const key of ended) remove.run(key);
    if (ended.length > 0) this.#file.hasDeleted = true;
    return ended.length;
  }

  #transaction<T>(key: SessionKey | undefined, mode: TransactionMode, task: () => T): Promise<T> {
    return inTransaction(this.#database, this.#file.lockTimeoutMs, key, mode, task);
  }
}

/** Keeps the records of processes in a database. Processes have no common clock, so others must watch the beat counter. */
function processesOf(database: SqliteDatabase, lockTimeoutMs: number): SessionProcesses {
  const write = <T>(task: () => T) => inTransaction(database, lockTimeoutMs, undefined, 'immediate', task);
  const beatsOf = (id: string) =>
    database.prepare('SELECT beats FROM processes WHERE id = ?').cell<number>(id);
  const retire = (id: string) => {
    database.prepare('DELETE FROM processes WHERE id = ?').run(id);
    database.prepare('DELETE FROM notes WHERE process = ?').run(id);
  };
  return {
    beat: ({ id }, acknowledged) =>
      write(() => {
        const beats = beatsOf(id) ?? 0;
        if (beats === 0) for (const ended of endedProcesses(database)) retire(ended);
        const { host, pid, started } = thisProcess();
        database
          .prepare('INSERT OR REPLACE INTO processes VALUES (?, ?, ?, ?, ?)')
          .run(id, beats + 1, host, pid, started);
        const remove = database.prepare('DELETE FROM notes WHERE process = ? AND id = ?');
        for (const note of acknowledged) remove.run(id, note.id);
        return database
          .prepare('SELECT id, text FROM notes WHERE process = ? ORDER BY number')
          .all(id) as unknown as readonly ProcessNote[];
      }),
    look: async (id) => beatsOf(id),
    send: (process, { id, text }) =>
      write(() => {
        if (beatsOf(process) === undefined) return false;
        database.prepare('INSERT INTO notes (process, id, text) VALUES (?, ?, ?)').run(process, id, text);
        return true;
      }),
    retire: (id) => write(() => retire(id)),
  };
}

function endedProcesses(database: SqliteDatabase): readonly string[] {
  type Row = ProcessIdentity & { readonly id: string };
  const rows = database
    .prepare('SELECT id, host, pid, started FROM processes')
    .all() as unknown as readonly Row[];
  return rows.filter((row) => hasEnded(row)).map(({ id }) => id);
}

function committed(row: SessionRow): Committed {
  return { version: row.version, messages: row.message_count, operations: row.operations.split(' ') };
}

/**
 * Stores sessions in one SQLite file, for any number of processes on one machine. A commit is a transaction that writes only what it
 * adds.
 *
 * @example
 * ```ts
 * const store = new SqliteSession({ file: './data/sessions.db' });
 * ```
 */
export class SqliteSession extends SqliteRecords {
  /**
   * @throws {InvalidInputError} for unknown or impossible options.
   * @throws {SessionStoreError} when the file cannot be opened, is not a database, or has another format.
   */
  constructor(options: SqliteSessionOptions) {
    const { file, synchronous, lockTimeoutMs } = parseWith(optionsSchema, options, 'SqliteSession options');
    const database = openDatabase(file, synchronous, lockTimeoutMs);
    const processes = processesOf(database, lockTimeoutMs);
    super({ database, lockTimeoutMs, processes, hasDeleted: false });
  }
}
