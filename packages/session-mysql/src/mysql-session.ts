import {
  asCollection,
  checkChange,
  collectionName,
  type DeleteOptions,
  decodeSession,
  describeHead,
  type ListedRow,
  type ListOptions,
  type LoadOptions,
  lastWanted,
  leaseLost,
  leaseTime,
  listedSession,
  listPages,
  operationId,
  parseWith,
  retentionOf,
  rowOf,
  type SessionChange,
  type SessionInfo,
  type SessionKey,
  type SessionLease,
  type SessionScope,
  type SessionStore,
  type StoredSession,
} from '@x/core';
import type { Pool, QueryResult, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import * as z from 'zod';
import { AppendProcedure } from './append-procedure.js';
import { applyChange, checkPacketLimit } from './apply-change.js';
import { checkTables, createTables } from './create-tables.js';
import { execute, inTransaction } from './execute.js';
import {
  fromToken,
  hashKey,
  hashPart,
  SCOPE_COLUMNS,
  type Statements,
  statementsFor,
  toToken,
} from './statements.js';
import { attempt } from './store-error.js';

const optionsSchema = z.strictObject({
  /** A pool of `mysql2/promise`, with autocommit on. It stays the caller's: the store never ends it. */
  pool: z.custom<Pool>(
    (pool) => typeof (pool as Pool | undefined)?.getConnection === 'function' && !isCallbackPool(pool),
    'must be a pool made by createPool of mysql2/promise',
  ),
  /** Name of the sessions' table; those beside it begin with the same name. Default `agent_sessions`. */
  table: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,47}$/, 'must be letters, digits and _, 48 at most')
    .default('agent_sessions'),
});

/** Options of a `MysqlSession`. */
export type MysqlSessionOptions = Readonly<z.input<typeof optionsSchema>>;

/** Bounds of one transaction of a retention. A session is never divided, so that one with more messages goes alone. */
const PAGE = 100;
const PAGE_MESSAGES = 10_000;

/**
 * A row that the load statement answers. The session's own has seq -1, its head as body, and in one text what else there
 * is: `<version> <number of messages> <time> <operation>`. The others are messages.
 */
type LoadedRow = readonly [seq: number | string, body: Buffer, info: string | null];

/**
 * Sessions in MySQL 8 or MariaDB. A commit is one transaction and inserts only what it adds.
 *
 * @throws {InvalidInputError} for unknown or impossible options.
 */
export class MysqlSession implements SessionStore {
  readonly reach = 'cluster';
  readonly #pool: Pool;
  readonly #table: string;
  readonly #statements: Statements;
  readonly #procedure: AppendProcedure;
  readonly #options: MysqlSessionOptions;
  /** The name of a collection; empty for sessions. */
  readonly #collection: string;
  /** Settles when the format of the tables is known. */
  #checked: Promise<unknown> | undefined;

  /** @param collection is for the collections of this store. */
  constructor(options: MysqlSessionOptions, collection = '') {
    const { pool, table } = parseWith(optionsSchema, options, 'MysqlSession options');
    this.#options = options;
    this.#collection = collection;
    this.#pool = pool;
    this.#table = table;
    this.#statements = statementsFor(table);
    this.#procedure = new AppendProcedure(pool, table);
  }

  /**
   * Creates the tables unless they exist. Call it at every start if you like, from many processes at the same time.
   *
   * @throws {SessionStoreError} `session_older` or `session_newer` when the tables have another format; `session_unavailable`
   * when they cannot be created.
   */
  createTables(): Promise<void> {
    return attempt(undefined, () => createTables(this.#pool, this.#table));
  }

  async load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    const last = lastWanted(options) ?? Number.MAX_SAFE_INTEGER;
    const hash = this.#hashOf(key);
    const values = [hash, hash, String(last)];
    const rows = (await this.#attempt(key, () =>
      execute<RowDataPacket[][]>(this.#pool, this.#statements.load, values, true),
    )) as unknown as readonly LoadedRow[];
    if (rows.length === 0) return undefined;
    // They come in the order of the primary key, as a rule; nobody promises it.
    const [session, ...messages] = [...rows].sort(([left], [right]) => Number(left) - Number(right));
    const [version, count, updatedAt = '', operation = ''] = session?.[2]?.split(' ') ?? [];
    const first = Math.max(0, Number(count) - last);
    // A gap in the numbers is a message that is missing.
    const isWhole = messages.every(([seq], index) => Number(seq) === first + index);
    return decodeSession(key, 'the database', {
      token: toToken(Buffer.from(operation, 'hex')),
      version: Number(version),
      count: isWhole ? Number(count) - first : -1,
      head: String(session?.[1]),
      messages: messages.map(([, body]) => body.toString('utf8')),
      updatedAt: new Date(updatedAt),
    });
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    const write = {
      collection: this.#collection,
      key,
      hash: this.#hashOf(key),
      change,
      head: Buffer.from(JSON.stringify(change.head)),
      description: Buffer.from(describeHead(change.head)),
      rows: change.append.map((message) => Buffer.from(JSON.stringify(message))),
      operation: fromToken(change.operation),
    };
    await checkPacketLimit(this.#pool, write);
    return this.#attempt(key, async () => {
      const version = await this.#procedure.append(write);
      if (version !== undefined) return version;
      const isNew = await this.#isNew(key, change);
      return inTransaction(this.#pool, (connection) =>
        applyChange(connection, this.#statements, write, isNew),
      );
    });
  }

  async delete(key: SessionKey, { token }: DeleteOptions = {}): Promise<boolean> {
    const hash = this.#hashOf(key);
    // First, so that its holder does not write in between; where the session may be another, only once it is gone.
    if (token === undefined) await this.#run(key, this.#statements.forgetLease, [hash]);
    const operation = token === undefined ? null : fromToken(token);
    const { affectedRows } = await this.#run<ResultSetHeader>(key, this.#statements.delete, [
      hash,
      operation,
    ]);
    if (token !== undefined && affectedRows > 0) await this.#run(key, this.#statements.forgetLease, [hash]);
    return affectedRows > 0;
  }

  /**
   * Deletes the sessions whose last commit is older than `olderThan` by the server's clock, the oldest first, in
   * transactions of bounded size, and answers how many. A session that is committed to meanwhile or that is leased stays.
   * Records of collections count as sessions.
   *
   * @param options.limit sessions to delete at most; default all.
   * @throws {InvalidInputError} for unknown or impossible options.
   */
  async deleteOlderThan(options: {
    readonly olderThan: Date;
    readonly limit?: number | undefined;
  }): Promise<number> {
    const { olderThan, limit } = retentionOf(options);
    const time = sqlTime(olderThan);
    const { old, lockOld, deleteMessages, deleteSessions, forgetLeases } = this.#statements;
    let deleted = 0;
    while (deleted < limit) {
      const found = await this.#run<RowDataPacket[]>(undefined, old(Math.min(PAGE, limit - deleted)), [time]);
      if (found.length === 0) break;
      let messages = 0;
      const few = found.filter(({ count }, index) => {
        messages += Number(count);
        return index === 0 || messages <= PAGE_MESSAGES;
      });
      deleted += await this.#attempt(undefined, () =>
        inTransaction(this.#pool, async (connection) => {
          // Looks again under a lock: who has been changed meanwhile stays.
          const values = [...few.map(({ id }) => String(id)), time];
          const locked = await execute<RowDataPacket[]>(connection, lockOld(few.length), values);
          const ids = locked.map(({ id }) => String(id));
          if (ids.length === 0) return 0;
          await execute(connection, deleteMessages(ids.length), ids);
          await execute(connection, deleteSessions(ids.length), ids);
          return ids.length;
        }),
      );
    }
    // Leases of that time; the next one of a session begins with a larger fence all the same.
    while ((await this.#run<ResultSetHeader>(undefined, forgetLeases, [time])).affectedRows > 0);
    return deleted;
  }

  collection(name: string): SessionStore {
    return asCollection(new MysqlSession(this.#options, collectionName(name)));
  }

  async *collections(): AsyncGenerator<string, void, undefined> {
    for (let last = ''; ; ) {
      const [row] = await this.#run<RowDataPacket[]>(undefined, this.#statements.nextCollection, [last]);
      if (row === undefined) return;
      last = String(row.collection);
      yield last;
    }
  }

  async isLeased(key: SessionKey): Promise<boolean> {
    return (await this.#run<RowDataPacket[]>(key, this.#statements.isLeased, [this.#hashOf(key)])).length > 0;
  }

  /**
   * The right to run the session's turns, or `undefined` while somebody else has it. Its time runs by the server's clock alone.
   *
   * @throws {InvalidInputError} when `ttlMs` is no positive whole number that a timer can wait for.
   * @see Kleppmann, "How to do distributed locking" (2016), for the fence.
   */
  async lease(key: SessionKey, options: { readonly ttlMs: number }): Promise<SessionLease | undefined> {
    const ttlMs = leaseTime(options);
    // Names this grant, so that an attempt that follows a lost reply knows its own.
    const holder = fromToken(operationId());
    const hash = this.#hashOf(key);
    const { lease, fenceOf, renew, release } = this.#statements;
    await this.#run(key, lease, [hash, holder, ttlMs]);
    const [row] = await this.#run<RowDataPacket[]>(key, fenceOf, [hash, holder]);
    if (row === undefined) return undefined;
    return {
      fence: Number(row.fence),
      ttlMs,
      renew: async () => {
        const { affectedRows } = await this.#run<ResultSetHeader>(key, renew, [ttlMs, hash, holder]);
        if (affectedRows === 0) throw leaseLost(key);
      },
      release: async () => {
        await this.#run(key, release, [hash, holder]);
      },
    };
  }

  /** The sessions within a scope, newest first; those that are committed to meanwhile once more at the end. */
  list(scope: SessionScope = {}, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    const conditions = ['collection = ?'];
    const values: (Buffer | null | string)[] = [this.#collection];
    for (const [part, column] of SCOPE_COLUMNS) {
      if (scope[part] === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(hashPart(scope[part]));
    }
    const place = ['updated_at <= ?', '(updated_at < ? OR id < CAST(? AS UNSIGNED))'];
    return listPages(options, async (behind, count) => {
      const time = behind && sqlTime(new Date(behind.time));
      const cursor = behind && time ? [time, time, rowOf(behind)] : [];
      const statement = this.#statements.list(
        cursor.length > 0 ? [...conditions, ...place] : conditions,
        count,
      );
      const all = [...values, ...cursor];
      return (await this.#run<(ListedRow & RowDataPacket)[]>(undefined, statement, all)).map(listedSession);
    });
  }

  /** Does nothing: the pool is the caller's. */
  async close(): Promise<void> {}

  /** What a record is found by. */
  #hashOf(key: SessionKey): Buffer {
    return hashKey(this.#collection, key);
  }

  #run<Result extends QueryResult>(
    key: SessionKey | undefined,
    statement: string,
    values: readonly (string | number | Buffer | null)[],
  ): Promise<Result> {
    return this.#attempt(key, () => execute<Result>(this.#pool, statement, values));
  }

  /** Does something with tables whose format was looked at once. */
  #attempt<T>(key: SessionKey | undefined, task: () => Promise<T>): Promise<T> {
    return attempt(key, async () => {
      this.#checked ??= checkTables(this.#pool, this.#table);
      await this.#checked.catch((error: unknown) => {
        this.#checked = undefined;
        throw error;
      });
      return task();
    });
  }

  // Asked outside of the transaction, so that it locks nothing: an insert that meets a row locks it for reading, and many
  // who hold such a lock and want to write are deadlocked.
  async #isNew(key: SessionKey, { expected }: SessionChange): Promise<boolean> {
    if (expected !== undefined) return false;
    const found = await execute<RowDataPacket[]>(this.#pool, this.#statements.exists, [this.#hashOf(key)]);
    return found.length === 0;
  }
}

function sqlTime(time: Date): string {
  return time.toISOString().slice(0, -1).replace('T', ' ');
}

// mysql2 has two faces; the one with callbacks has `promise()`.
function isCallbackPool(pool: unknown): boolean {
  return typeof (pool as { promise?: unknown }).promise === 'function';
}
