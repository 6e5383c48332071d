import { createHash } from 'node:crypto';
import {
  asCollection,
  checkChange,
  checkCommit,
  checkKey,
  collectionName,
  type DeleteOptions,
  decodeSession,
  describeHead,
  encodeSegment,
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
import type { Pool, PoolClient, QueryResult } from 'pg';
import * as z from 'zod';
import { attempt, inTransaction, withConnection } from './connection.js';
import { checkTables, createTables } from './schema.js';
import { LIVES, type Statements, statementsFor } from './statements.js';

const optionsSchema = z.strictObject({
  /** A `Pool` of `pg`. It stays the caller's: the store never ends it. */
  pool: z.custom<Pool>(
    (pool) => typeof (pool as Pool | undefined)?.connect === 'function' && 'totalCount' in (pool as Pool),
    'must be a Pool of pg',
  ),
  /** Name of the sessions' table; those beside it begin with the same name. Default `agent_sessions`. */
  table: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,47}$/, 'must be lower-case letters, digits and _, 48 at most')
    .default('agent_sessions'),
  /** Seconds after its last commit at which a session is gone. Default 0: never. */
  ttlSeconds: z.int().min(0).default(0),
});

/** Options of a `PostgresSession`. */
export type PostgresSessionOptions = Readonly<z.input<typeof optionsSchema>>;

/** A change as text. */
interface Texts {
  readonly head: string;
  readonly description: string;
  readonly messages: readonly string[];
  /** Size of the messages. */
  readonly bytes: number;
}

/** Sessions that one transaction of a retention deletes. */
const PAGE = 500;
const PARTS = [
  ['tenantId', 'tenant_hash'],
  ['userId', 'user_hash'],
  ['agentId', 'agent_hash'],
  ['sessionId', 'session_hash'],
] as const;

/**
 * Stores sessions on PostgreSQL, 12 or later. A commit is one statement as a rule, and writes only what it adds.
 *
 * @example
 * ```ts
 * const store = new PostgresSession({ pool: new Pool({ connectionString: process.env.DATABASE_URL }) });
 * await store.createTables();
 * ```
 */
export class PostgresSession implements SessionStore {
  readonly reach = 'cluster';
  readonly #pool: Pool;
  readonly #table: string;
  readonly #statements: Statements;
  readonly #lifetime: number;
  readonly #options: PostgresSessionOptions;
  /** The name of a collection; empty for sessions. */
  readonly #collection: string;
  /** Settles when the format of the tables is known. */
  #checked: Promise<void> | undefined;

  /**
   * @param collection is for the collections of this store.
   * @throws {InvalidInputError} for unknown or impossible options.
   */
  constructor(options: PostgresSessionOptions, collection = '') {
    const { pool, table, ttlSeconds } = parseWith(optionsSchema, options, 'PostgresSession options');
    this.#pool = pool;
    this.#table = table;
    this.#statements = statementsFor(table);
    this.#lifetime = ttlSeconds * 1000;
    this.#options = options;
    this.#collection = collection;
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
    const { rows } = await this.#run(key, this.#statements.load, [this.#hashOf(key), last]);
    const [session, ...messages] = rows;
    if (session === undefined) return undefined;
    const first = Math.max(0, session.count - last);
    return decodeSession(key, 'PostgreSQL', {
      token: session.token,
      version: Number(session.version),
      // A gap in the numbers is a message that is missing.
      count: messages.every(({ seq }, index) => seq === first + index) ? session.count - first : -1,
      head: session.body,
      messages: messages.map(({ body }) => body),
      updatedAt: session.time,
    });
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    const { operation, expected, keep, fence = null } = change;
    const head = JSON.stringify(change.head);
    const description = describeHead(change.head);
    const messages = change.append.map((message) => JSON.stringify(message));
    const bytes = messages.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return this.#attempt(key, async () => {
      if (expected !== undefined) {
        const values = [this.#hashOf(key), expected, keep, operation, messages, fence, head, this.#lifetime];
        const { rows } = await this.#query(this.#statements.append, [...values, bytes, description]);
        if (rows[0] !== undefined) return Number(rows[0].version);
      }
      return inTransaction(this.#pool, (connection) =>
        this.#apply(connection, key, change, { head, description, messages, bytes }),
      );
    });
  }

  async delete(key: SessionKey, { token }: DeleteOptions = {}): Promise<boolean> {
    const { rows } = await this.#run(key, this.#statements.delete, [this.#hashOf(key), token]);
    return rows[0]?.lived === true;
  }

  /**
   * Deletes the sessions whose last commit is older than `olderThan` by the server's clock, or that have expired, the oldest
   * first, in transactions of bounded size, and answers how many. A session that is leased stays. Records of collections count
   * as sessions.
   *
   * @param options.limit sessions to delete at most; default all.
   * @throws {InvalidInputError} for unknown or impossible options.
   */
  async deleteOlderThan(options: {
    readonly olderThan: Date;
    readonly limit?: number | undefined;
  }): Promise<number> {
    const { olderThan, limit } = retentionOf(options);
    const { old, holdLeases, deleteOld, forgetLeases } = this.#statements;
    for (let deleted = 0; ; ) {
      const { rows } = await this.#run(undefined, old, [olderThan, Math.min(PAGE, limit - deleted)]);
      if (rows.length === 0) return deleted;
      deleted += await this.#attempt(undefined, () =>
        inTransaction(this.#pool, async (connection) => {
          const found = rows.map(({ key_hash: hash }) => hash);
          const held = await connection.query(holdLeases, [found]);
          const hashes = held.rows.map(({ key_hash: hash }) => hash);
          const gone = await connection.query(deleteOld, [hashes, olderThan]);
          await connection.query(forgetLeases, [hashes]);
          return gone.rows.length;
        }),
      );
    }
  }

  /** The sessions within a scope, newest first; those that are committed to meanwhile once more at the end. */
  list(scope: SessionScope = {}, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    const conditions = ['collection = $1', options?.expired ? 'TRUE' : LIVES];
    const values: unknown[] = [this.#collection];
    for (const [part, column] of PARTS) {
      const wanted = scope[part];
      if (wanted === undefined) continue;
      values.push(hashOfPart(wanted));
      conditions.push(`${column} = $${values.length}`);
    }
    const place = `(updated_at, id) < ($${values.length + 1}, $${values.length + 2})`;
    return listPages(options, async (behind, count) => {
      const statement = this.#statements.list(behind ? [...conditions, place] : conditions, count);
      const cursor = behind ? [new Date(behind.time), rowOf(behind)] : [];
      const { rows } = await this.#run(undefined, statement, [...values, ...cursor]);
      return rows.map(listedSession);
    });
  }

  /** Does nothing: the pool is the caller's. */
  async close(): Promise<void> {}

  collection(name: string): SessionStore {
    return asCollection(new PostgresSession(this.#options, collectionName(name)));
  }

  async *collections(): AsyncGenerator<string, void, undefined> {
    for (let last = ''; ; ) {
      const { rows } = await this.#run(undefined, this.#statements.nextCollection, [last]);
      if (rows[0] === undefined) return;
      last = rows[0].collection;
      yield last;
    }
  }

  async isLeased(key: SessionKey): Promise<boolean> {
    const { rowCount } = await this.#run(key, this.#statements.isLeased, [this.#hashOf(key)]);
    return rowCount !== 0;
  }

  /**
   * The right to run the session's turns, or `undefined` while somebody else has it. Its time runs by the server's clock.
   *
   * @throws {InvalidInputError} when `ttlMs` is no positive whole number.
   */
  async lease(key: SessionKey, options: { readonly ttlMs: number }): Promise<SessionLease | undefined> {
    const ttlMs = leaseTime(options);
    const hash = this.#hashOf(key);
    const holder = operationId();
    const { rows } = await this.#run(key, this.#statements.lease, [hash, holder, ttlMs]);
    if (rows[0] === undefined) return undefined;
    return {
      fence: Number(rows[0].fence),
      ttlMs,
      renew: async () => {
        const { rowCount } = await this.#run(key, this.#statements.renew, [hash, holder, ttlMs]);
        if (rowCount === 0) throw leaseLost(key);
      },
      release: async () => {
        await this.#run(key, this.#statements.release, [hash, holder]);
      },
    };
  }

  /** A commit of any kind, with the row locked. */
  async #apply(
    connection: PoolClient,
    key: SessionKey,
    change: SessionChange,
    texts: Texts,
  ): Promise<number> {
    const { operation, keep, fence } = change;
    const { head, description, messages } = texts;
    const { lockFence, lock, deleteOld, insert, replace, cut, add, bytesOf } = this.#statements;
    const hash = this.#hashOf(key);
    const [lease] = fence === undefined ? [] : (await connection.query(lockFence, [hash])).rows;
    const [row] = (await connection.query(lock, [hash])).rows;
    // Without its lease, under which this is written.
    if (row?.expired) await connection.query(deleteOld, [[hash], new Date(0)]);
    const stored =
      row === undefined || row.expired
        ? undefined
        : { version: Number(row.version), messages: Number(row.count), operations: operationsOf(row) };
    const applied = checkCommit(key, change, stored, lease && Number(lease.fence));
    if (applied !== undefined) return applied;

    const count = keep + messages.length;
    let id: string | undefined = row?.id;
    if (stored === undefined) {
      const parts = PARTS.map(([part]) => key.parts[part]);
      const hashes = parts.map((part) => (part === undefined ? null : hashOfPart(part)));
      const values = [
        hash,
        this.#collection,
        `${key}`,
        ...hashes,
        count,
        operation,
        head,
        texts.bytes,
        description,
        this.#lifetime,
      ];
      id = (await connection.query(insert, values)).rows[0]?.id;
      // Somebody was faster; now there is a row to lock.
      if (id === undefined) return this.#apply(connection, key, change, texts);
    } else {
      const isCut = keep < stored.messages;
      const kept = isCut ? (await connection.query(bytesOf, [id, keep])).rows[0]?.bytes : row.bytes;
      const bytes = Number(kept) + texts.bytes;
      await connection.query(replace, [hash, count, operation, head, bytes, description, this.#lifetime]);
      if (isCut) await connection.query(cut, [id, keep]);
    }
    if (messages.length > 0) await connection.query(add, [id, keep, messages]);
    return (stored?.version ?? 0) + 1;
  }

  /** What a record is found by. */
  #hashOf(key: SessionKey): Buffer {
    return hashOf(this.#collection === '' ? `${checkKey(key)}` : `${this.#collection}:${checkKey(key)}`);
  }

  #run(key: SessionKey | undefined, statement: string, values: unknown[]): Promise<QueryResult> {
    return this.#attempt(key, () => this.#query(statement, values));
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

  #query(statement: string, values: unknown[]): Promise<QueryResult> {
    return withConnection(this.#pool, (connection) => connection.query(statement, values));
  }
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** What sessions are listed by: short, as every commit writes it to the indexes anew. */
function hashOfPart(part: string): Buffer {
  return hashOf(encodeSegment(part)).subarray(0, 16);
}

function operationsOf({
  token,
  earlier,
}: {
  readonly token: string;
  readonly earlier: string;
}): readonly string[] {
  return [...(earlier.match(/.{8}/gs) ?? []), token];
}
