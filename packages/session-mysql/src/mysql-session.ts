import {
  checkChange,
  parseWith,
  type SessionChange,
  type SessionInfo,
  SessionKey,
  type SessionLease,
  type SessionScope,
  type SessionStore,
  type StoredSession,
} from '@x/core';
import type { Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import * as z from 'zod';
import { AppendProcedure } from './append-procedure.js';
import { applyChange } from './apply-change.js';
import { decodeSession, isoTime, type LoadedRow } from './decode-session.js';
import { deleteOlderThan } from './delete-older-than.js';
import { execute, executeArrays } from './execute.js';
import { hashKey, hashPart } from './hash-key.js';
import { inTransaction } from './in-transaction.js';
import { migrateTables } from './migrate-tables.js';
import { MysqlLease } from './mysql-lease.js';
import { checkPacketLimit } from './packet-limit.js';
import { fromToken, SCOPE_COLUMNS, type Statements, statementsFor } from './statements.js';
import { attempt } from './store-error.js';

const optionsSchema = z.strictObject({
  pool: z.custom<Pool>(
    (pool) => typeof (pool as Pool | undefined)?.getConnection === 'function' && !isCallbackPool(pool),
    'must be a pool made by createPool of mysql2/promise',
  ),
  table: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,47}$/, 'must be letters, digits and _, 48 at most')
    .default('agent_sessions'),
});

/** Options of a `MysqlSession`. */
export interface MysqlSessionOptions {
  /** A pool of `mysql2/promise`, with autocommit on. It stays the caller's: the store never ends it. */
  readonly pool: Pool;
  /** Name of the sessions' table; those beside it begin with the same name. Default `agent_sessions`. */
  readonly table?: string | undefined;
}

const retentionSchema = z.strictObject({
  olderThan: z.date(),
  limit: z.int().min(0).optional(),
});

/** Sessions that one statement of a listing reads. */
const PAGE = 500;

interface ListedRow extends RowDataPacket {
  readonly id: number | string;
  readonly sessionKey: string;
  readonly version: number | string;
  readonly updatedAt: string;
}

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

  constructor(options: MysqlSessionOptions) {
    const { pool, table } = parseWith(optionsSchema, options, 'MysqlSession options');
    this.#pool = pool;
    this.#table = table;
    this.#statements = statementsFor(table);
    this.#procedure = new AppendProcedure(pool, table);
  }

  /**
   * Creates the tables or brings them up to date. May be called at every start, by many processes at the same time.
   *
   * @throws {SessionStoreError} when the tables were made by a newer version of this package, or cannot be made.
   */
  migrate(): Promise<void> {
    return attempt(undefined, () => migrateTables(this.#pool, this.#table));
  }

  async load(key: SessionKey): Promise<StoredSession | undefined> {
    const hash = hashKey(key);
    const rows = await attempt(key, () =>
      executeArrays<LoadedRow>(this.#pool, this.#statements.load, [hash, hash]),
    );
    return rows.length === 0 ? undefined : decodeSession(key, rows);
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    const write = {
      key,
      change,
      head: Buffer.from(JSON.stringify(change.head)),
      rows: change.append.map((message) => Buffer.from(JSON.stringify(message))),
      operation: fromToken(change.operation),
    };
    await checkPacketLimit(this.#pool, key, [write.head, ...write.rows]);
    return attempt(key, async () => {
      const version = await this.#procedure.append(write);
      if (version !== undefined) return version;
      const isNew = await this.#isNew(key, change);
      return inTransaction(this.#pool, (connection) =>
        applyChange(connection, this.#statements, write, isNew),
      );
    });
  }

  async delete(key: SessionKey): Promise<boolean> {
    const { affectedRows } = await attempt(key, () =>
      execute<ResultSetHeader>(this.#pool, this.#statements.delete, [hashKey(key)]),
    );
    // A lease that somebody has stays: whoever runs a turn still has the right to.
    await attempt(key, () => execute(this.#pool, this.#statements.forgetLease, [hashKey(key)]));
    return affectedRows > 0;
  }

  /**
   * Deletes the sessions whose last commit is older than `olderThan` by the server's clock, the oldest days first, in
   * transactions of bounded size, and answers how many. What is committed meanwhile stays, and so does a session whose
   * lease somebody has.
   *
   * @param options.limit sessions to delete at most; default all.
   * @throws {InvalidInputError} for unknown or impossible options.
   */
  async deleteOlderThan(options: {
    readonly olderThan: Date;
    readonly limit?: number | undefined;
  }): Promise<number> {
    const { olderThan, limit } = parseWith(retentionSchema, options, 'deleteOlderThan options');
    const time = olderThan.toISOString().slice(0, -1).replace('T', ' ');
    return deleteOlderThan(this.#pool, this.#statements, time, limit ?? Number.POSITIVE_INFINITY);
  }

  lease(key: SessionKey, options: { readonly ttlMs: number }): Promise<SessionLease | undefined> {
    return MysqlLease.take(this.#pool, this.#statements, key, options);
  }

  /** The sessions within a scope, the one that was begun last first. */
  async *list(scope: SessionScope = {}): AsyncIterable<SessionInfo> {
    const conditions: string[] = [];
    const values: (Buffer | null | string)[] = [];
    for (const [part, column] of SCOPE_COLUMNS) {
      if (scope[part] === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(hashPart(scope[part]));
    }
    const first = this.#statements.list(conditions, PAGE);
    const next = this.#statements.list([...conditions, 'id < CAST(? AS UNSIGNED)'], PAGE);
    let last: ListedRow | undefined;
    do {
      const [statement, cursor] = last === undefined ? [first, []] : [next, [String(last.id)]];
      const rows = await attempt(undefined, () =>
        execute<ListedRow[]>(this.#pool, statement, [...values, ...cursor]),
      );
      for (const { sessionKey, version, updatedAt } of rows) {
        const key = SessionKey.parse(sessionKey);
        if (key.isWithin(scope)) yield { key, version: Number(version), updatedAt: isoTime(updatedAt) };
      }
      last = rows.length < PAGE ? undefined : rows.at(-1);
    } while (last !== undefined);
  }

  /** Does nothing: the pool is the caller's. */
  async close(): Promise<void> {}

  // Asked outside of the transaction, so that it locks nothing: an insert that meets a row locks it for reading, and many
  // who hold such a lock and want to write are deadlocked.
  async #isNew(key: SessionKey, { expected }: SessionChange): Promise<boolean> {
    if (expected !== undefined) return false;
    const found = await execute<RowDataPacket[]>(this.#pool, this.#statements.exists, [hashKey(key)]);
    return found.length === 0;
  }
}

// mysql2 has two faces; the one with callbacks has `promise()`.
function isCallbackPool(pool: unknown): boolean {
  return typeof (pool as { promise?: unknown }).promise === 'function';
}
