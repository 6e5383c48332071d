import { SessionStoreError } from '../../errors/session-errors.js';
import { encodeSegment } from '../../lib/encode-segment.js';
import type { Reach } from '../../workspace/workspace.js';
import { asCollection, collectionName } from '../collections.js';
import { type DriverFailure, databaseAttempts } from '../database-attempts.js';
import { decodeSession, type EncodedSession } from '../decode-session.js';
import { describeHead } from '../listing.js';
import { checkKey, type SessionKey, type SessionScope } from '../session-key.js';
import {
  claimText,
  heldLease,
  type LeaseClaim,
  type ProcessNote,
  type SessionLeases,
  type SessionProcesses,
} from '../session-leases.js';
import type {
  DeleteOptions,
  ListOptions,
  LoadOptions,
  SessionChange,
  SessionInfo,
  SessionStore,
  StoredSession,
} from '../session-store.js';
import { checkChange, checkCommit, checkFormat, isKept, lastOption } from '../store-rules.js';
import type { SqlValues } from './named-values.js';
import { listRows, SQL_PARTS, type SqlListing } from './sql-listing.js';

const encoder = new TextEncoder();

export type SqlRow = Readonly<Record<string, unknown>>;

/** The result of a statement. */
export interface SqlResult {
  readonly rows: readonly SqlRow[];
  /** Number of rows that were changed. */
  readonly changed: number;
}

/** Runs a statement with named values on a connection. */
export type RunSql = (statement: string, values: SqlValues) => Promise<SqlResult>;

/** A session as a database returns it. `count` counts all stored messages, even if only the last ones were loaded. */
export interface LoadedRows extends Omit<EncodedSession, 'messages'> {
  readonly messages: readonly { readonly seq: number; readonly text: string }[];
}

/** Finds the row of a record: its key, or a hash of it. */
export type SqlId = string | Uint8Array;

/** A change in the form in which it is written. */
export interface SqlWrite<Text> {
  readonly id: SqlId;
  readonly key: SessionKey;
  readonly change: SessionChange;
  readonly head: Text;
  readonly description: Text;
  readonly messages: readonly Text[];
  /** Size of the messages. */
  readonly bytes: number;
}

/**
 * The SQL statements of a dialect. `:id` finds a session, `:row` finds its messages.
 *
 * - `format`: returns the format of the tables as `format`.
 * - `exists`: finds a session without locking it. Needed if an insert that meets an existing row would lock that row.
 * - `lockFence`: returns the fence of the newest lease, and blocks new leases until the transaction ends.
 * - `lock`: locks a session and returns its `id` (the `:row`), `version`, `count`, `bytes` and operations.
 * - `settle`: adds the `:tail` newest messages, which `append` has stored in the row of the session. `lock` returns their number as
 *   `tail`, and `replace` removes them from the row.
 * - `replace`: updates the head of an existing session, with all values of a write.
 * - `bytesOf`, `cut`: returns the size of the messages before `:keep` as `bytes`; deletes the messages from `:keep` on.
 * - `nextCollection`: returns the first collection after `:after` as `collection`.
 * - `take`: takes the lease for `:claim` of `:process` if it is free, already held by this claim, or has the fence `:over`. Returns
 *   its `fence`; if `take` cannot return rows, `fenceOf` does.
 * - `confirm`: writes a lease with `:fence` for `:claim` unless a larger fence exists.
 * - `find`: returns `fence` and `claim` of a held lease.
 * - `lockLease`: returns `fence` and `claim`, and blocks new leases until the transaction ends.
 * - `beat`: renews the record of `:process` for `:ttlMs`, and removes the text `:acknowledged` from the start of its notes. Returns
 *   `notes`; if `beat` cannot return rows, `notesOf` does.
 * - `look`: returns `beats` of a live process. `send`: adds the line `:note` to its notes.
 * - `retire`: deletes the record, and all records that have been dead for an hour.
 */
export type SqlStatements = Readonly<
  Record<'format' | 'lockFence' | 'lock' | 'replace' | 'bytesOf' | 'cut' | 'nextCollection', string> &
    Record<'take' | 'confirm' | 'release' | 'find' | 'lockLease', string> &
    Record<'beat' | 'look' | 'send' | 'retire', string> &
    Partial<Record<'exists' | 'settle' | 'fenceOf' | 'notesOf', string>>
>;

/** The part of a SQL store that differs between databases. `Text` is the type in which the driver sends text. */
export interface SqlDialect<Text> {
  /** Name of the database for errors, such as `PostgreSQL`. */
  readonly database: string;
  /** The package that reads the tables; named in errors. */
  readonly owner: string;
  /** Subject of errors about the table format, such as `The table agent_sessions`. */
  readonly subject: string;
  readonly reach: Reach;
  readonly statements: SqlStatements;
  readonly listing: SqlListing;
  judge(error: Error): DriverFailure;
  /** Converts a key to the value that finds its row: a hash, if an index could not hold a long key. */
  idOf(key: string): SqlId;
  /** Converts a token to the type of its column. */
  token(token: string): unknown;
  textOf(json: string): Text;
  /** Runs a statement outside of transactions. */
  readonly run: RunSql;
  /** Runs a statement of the heartbeat at once, even if all connections of the pool are in use. */
  readonly beat: RunSql;
  /**
   * Runs a task in a transaction, which is rolled back if the task throws.
   *
   * @param isDeletion The task only deletes. It must work even if the disk is full.
   */
  transaction<T>(task: (run: RunSql) => Promise<T>, isDeletion?: boolean): Promise<T>;
  /** Creates missing tables. Processes that call this at the same time wait for each other. */
  createTables(): Promise<void>;
  /** Reads a session and its last `last` messages from one snapshot. */
  load(id: SqlId, last: number): Promise<LoadedRows | undefined>;
  /** Applies the common change, which only appends, in one round trip. Returns `undefined` if it cannot, and wrote nothing. */
  append(write: SqlWrite<Text>): Promise<number | undefined>;
  /** Inserts a new session and returns its row; `undefined` if the session exists. */
  insert(run: RunSql, values: SqlValues): Promise<unknown>;
  /** Adds messages after the first `keep`. */
  add(run: RunSql, row: unknown, keep: number, messages: readonly Text[]): Promise<unknown>;
  /** Returns the operations of a locked row, as `remember` in store-rules.ts builds them. */
  operationsOf(row: SqlRow): readonly string[];
  /** Deletes a session with its lease. Returns whether the session existed. */
  delete(run: RunSql, id: SqlId, token: string | undefined): Promise<boolean>;
}

function lineOf({ id, text }: ProcessNote): string {
  return `${id} ${text}\n`;
}

/** The table format that every dialect creates. */
export const SQL_FORMAT = 1;

/** A session store on a SQL database. A dialect implements the differences between databases. */
export class SqlSession<Text> implements SessionStore {
  readonly reach: Reach;
  readonly leases: SessionLeases;
  readonly #dialect: SqlDialect<Text>;
  readonly #collection: string;
  readonly #retry: ReturnType<typeof databaseAttempts>;
  /** Settles when the format of the tables has been checked. */
  #checked: Promise<void> | undefined;

  /** @param collection The name of a collection; empty for sessions. */
  constructor(dialect: SqlDialect<Text>, collection = '', processes?: SessionProcesses) {
    this.#dialect = dialect;
    this.reach = dialect.reach;
    this.#collection = collection;
    this.#retry = databaseAttempts((error) => dialect.judge(error));
    this.leases = this.#leasesOf(processes ?? this.#processes());
  }

  /**
   * Creates missing tables. You can call it at every start, even from many processes at the same time.
   *
   * @throws {SessionStoreError} `session_older` or `session_newer` when the tables have another format; `session_unavailable`
   * when they cannot be created.
   */
  createTables(): Promise<void> {
    return this.#retry(undefined, async () => {
      await this.#dialect.createTables();
      await this.#checkFormat();
    });
  }

  async load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    const last = lastOption(options) ?? Number.MAX_SAFE_INTEGER;
    const loaded = await this.#attempt(key, () => this.#dialect.load(this.#idOf(key), last));
    if (loaded === undefined) return undefined;
    const { count, messages, ...session } = loaded;
    const first = Math.max(0, count - last);
    // A gap in the sequence numbers means that a message is missing.
    const isWhole = messages.every(({ seq }, index) => seq === first + index);
    return decodeSession(key, this.#dialect.database, {
      ...session,
      count: isWhole ? count - first : -1,
      messages: messages.map(({ text }) => text),
    });
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    const dialect = this.#dialect;
    const messages = change.append.map((message) => JSON.stringify(message));
    const write: SqlWrite<Text> = {
      id: this.#idOf(key),
      key,
      change,
      head: dialect.textOf(JSON.stringify(change.head)),
      description: dialect.textOf(describeHead(change.head)),
      messages: messages.map((text) => dialect.textOf(text)),
      bytes: messages.reduce((sum, text) => sum + encoder.encode(text).length, 0),
    };
    return this.#attempt(key, async () => {
      const version = await dialect.append(write);
      if (version !== undefined) return version;
      // Checked outside the transaction: if many transactions share-lock a row and then write it, they deadlock.
      const { exists } = dialect.statements;
      const isNew =
        change.expected === undefined && !(exists && (await dialect.run(exists, { id: write.id })).rows[0]);
      return dialect.transaction((run) => this.#apply(run, write, isNew));
    });
  }

  async delete(key: SessionKey, options: DeleteOptions = {}): Promise<boolean> {
    const dialect = this.#dialect;
    const id = this.#idOf(key);
    const remove = async (run: RunSql) => {
      if (options.unlessLeased) {
        const [lease] = (await run(dialect.statements.lockLease, { id })).rows;
        const isHeld = lease?.claim != null;
        if (isKept(isHeld ? { fence: Number(lease.fence) } : undefined, options)) return false;
      }
      return dialect.delete(run, id, options.token);
    };
    return this.#attempt(key, () => dialect.transaction(remove, true));
  }

  /**
   * Lists the sessions within a scope, newest first. A session that gets a commit while you list all sessions moves to the front and is
   * returned last.
   */
  list(scope: SessionScope = {}, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    const read = async (statement: string, values: SqlValues) =>
      (await this.#run(undefined, statement, values)).rows;
    return listRows(this.#dialect.listing, this.#collection, scope, options, read);
  }

  /** Does nothing, because the caller owns the pool. */
  async close(): Promise<void> {}

  collection(name: string): SessionStore {
    return asCollection(new SqlSession(this.#dialect, collectionName(name), this.leases.processes), name);
  }

  async *collections(): AsyncGenerator<string, void, undefined> {
    for (let after = ''; ; yield after) {
      const { rows } = await this.#run(undefined, this.#dialect.statements.nextCollection, { after });
      if (rows[0] === undefined) return;
      after = String(rows[0].collection);
    }
  }

  #leasesOf(processes: SessionProcesses): SessionLeases {
    const { take, fenceOf, confirm, release, find } = this.#dialect.statements;
    const valuesOf = (key: SessionKey, claim: LeaseClaim) => {
      return { id: this.#idOf(key), process: claim.process, claim: claimText(claim) };
    };
    return {
      processes,
      take: async (key, claim, { over } = {}) => {
        const values = { ...valuesOf(key, claim), over };
        const taken = await this.#run(key, take, values);
        const [row] = fenceOf === undefined ? taken.rows : (await this.#run(key, fenceOf, values)).rows;
        return row && Number(row.fence);
      },
      confirm: async (key, claim, fence) => {
        await this.#run(key, confirm, { ...valuesOf(key, claim), fence });
        const [row] = (await this.#run(key, find, valuesOf(key, claim))).rows;
        return Number(row?.fence) === fence;
      },
      release: async (key, claim) => {
        await this.#run(key, release, valuesOf(key, claim));
      },
      find: async (key) => {
        const [row] = (await this.#run(key, find, { id: this.#idOf(key) })).rows;
        return row && heldLease(row.claim, Number(row.fence));
      },
    };
  }

  #processes(): SessionProcesses {
    const { beat, notesOf, look, send, retire } = this.#dialect.statements;
    const run = (statement: string, values: SqlValues) =>
      this.#attempt(undefined, () => this.#dialect.beat(statement, values));
    return {
      beat: async ({ id, ttlMs }, acknowledged) => {
        const values = { process: id, ttlMs, acknowledged: acknowledged.map(lineOf).join('') };
        const beaten = await run(beat, values);
        const [row] = notesOf === undefined ? beaten.rows : (await run(notesOf, values)).rows;
        const lines = String(row?.notes ?? '').split('\n');
        return lines.slice(0, -1).map((line) => {
          const end = line.indexOf(' ');
          return { id: line.slice(0, end), text: line.slice(end + 1) };
        });
      },
      look: async (id) => {
        const [row] = (await run(look, { process: id })).rows;
        return row && Number(row.beats);
      },
      send: async (id, note) => (await run(send, { process: id, note: lineOf(note) })).changed > 0,
      retire: async (id) => {
        await run(retire, { process: id });
      },
    };
  }

  /** Applies a commit of any kind while the row is locked. */
  async #apply(run: RunSql, write: SqlWrite<Text>, isNew: boolean): Promise<number> {
    const { id, key, change, head, description, messages, bytes } = write;
    const { keep, fence } = change;
    const dialect = this.#dialect;
    const { lockFence, lock, settle, replace, bytesOf, cut } = dialect.statements;
    const [lease] = fence === undefined ? [] : (await run(lockFence, { id })).rows;
    const newest = lease && Number(lease.fence);
    const count = keep + messages.length;
    const values = { id, head, description, bytes, count, operation: dialect.token(change.operation) };
    const insert = () => dialect.insert(run, { ...values, ...this.#columnsOf(key) });
    // A new row is inserted without a locking read first, because that read would also lock neighboring keys.
    let row = isNew && keep === 0 && fence === newest ? await insert() : undefined;
    let version = 1;
    if (row === undefined) {
      const [found] = (await run(lock, { id })).rows;
      const stored = found && {
        version: Number(found.version),
        messages: Number(found.count),
        operations: dialect.operationsOf(found),
      };
      const applied = checkCommit(key, change, stored, newest);
      if (applied !== undefined) return applied;
      if (found === undefined || stored === undefined) {
        row = await insert();
        // Another writer inserted the row first, so now there is a row to lock.
        if (row === undefined) return this.#apply(run, write, false);
      } else {
        row = found.id;
        version = stored.version + 1;
        const tail = Number(found.tail);
        if (settle !== undefined && tail > 0) await run(settle, { row, tail });
        const isCut = keep < stored.messages;
        const kept = isCut ? (await run(bytesOf, { row, keep })).rows[0]?.bytes : found.bytes;
        await run(replace, { ...values, row, bytes: Number(kept ?? 0) + bytes });
        if (isCut) await run(cut, { row, keep });
      }
    }
    if (messages.length > 0) await dialect.add(run, row, keep, messages);
    return version;
  }

  /** Returns the columns that listings filter by. */
  #columnsOf(key: SessionKey): SqlValues {
    const { listing } = this.#dialect;
    const columns: Record<string, unknown> = { collection: this.#collection, key: `${key}` };
    for (const [part, name] of SQL_PARTS) {
      const value = key.parts[part];
      columns[name] = value === undefined ? null : listing.part(encodeSegment(value));
    }
    return columns;
  }

  #idOf(key: SessionKey): SqlId {
    const prefix = this.#collection === '' ? '' : `${this.#collection}:`;
    return this.#dialect.idOf(`${prefix}${checkKey(key)}`);
  }

  #run(key: SessionKey | undefined, statement: string, values: SqlValues): Promise<SqlResult> {
    return this.#attempt(key, () => this.#dialect.run(statement, values));
  }

  /** Runs a task after checking the table format once. Retries transient failures. */
  #attempt<T>(key: SessionKey | undefined, task: () => Promise<T>): Promise<T> {
    return this.#retry(key, async () => {
      this.#checked ??= this.#checkFormat();
      await this.#checked.catch((error: unknown) => {
        this.#checked = undefined;
        throw error;
      });
      return task();
    });
  }

  async #checkFormat(): Promise<void> {
    const { statements, subject, owner } = this.#dialect;
    const [row] = (await this.#dialect.run(statements.format, {})).rows;
    if (row === undefined) {
      throw new SessionStoreError(
        'session_corrupt',
        `${subject} does not contain the format number of its sessions. Nothing was changed. Restore the database from a backup, or ` +
          'call createTables() if the tables do not exist yet.',
      );
    }
    checkFormat(subject, Number(row.format), SQL_FORMAT, owner);
  }
}
