import { createHash } from 'node:crypto';
import {
  type LoadedRows,
  type RunSql,
  SQL_FORMAT,
  type SqlDialect,
  type SqlListing,
  type SqlRow,
  type SqlValues,
  type SqlWrite,
} from '@x/core';
import type { Pool } from 'pg';
import { inTransaction, judge, runOn, withConnection } from './connection.js';
import { schemaOf } from './schema.js';
import { LIVES, type Statements, statementsFor } from './statements.js';

/** Sessions that one transaction of a retention deletes. */
const PAGE = 500;

/** PostgreSQL: texts are sent as strings, and sessions may expire. */
export class PostgresDialect implements SqlDialect<string> {
  readonly database = 'PostgreSQL';
  readonly owner = '@x/session-postgres';
  readonly table: string;
  readonly lifetime: number;
  readonly statements: Statements;
  readonly listing: SqlListing;
  readonly judge = judge;
  readonly run: RunSql;
  readonly #pool: Pool;

  constructor(pool: Pool, table: string, lifetime: number) {
    this.#pool = pool;
    this.table = table;
    this.lifetime = lifetime;
    this.statements = statementsFor(table);
    this.run = (statement, values) =>
      withConnection(pool, (connection) => runOn(connection)(statement, values));
    this.listing = {
      select: this.statements.list,
      suffix: '_hash',
      // Short, as every commit writes it to the indexes anew.
      part: (encoded) => this.hash(encoded).subarray(0, 16),
      lives: LIVES,
      behind: '(updated_at, id) < (:time, :id)',
      time: (milliseconds) => new Date(milliseconds),
    };
  }

  hash(text: string): Buffer {
    return createHash('sha256').update(text).digest();
  }

  token(token: string): string {
    return token;
  }

  textOf(json: string): string {
    return json;
  }

  sizeOf(text: string): number {
    return Buffer.byteLength(text);
  }

  transaction<T>(task: (run: RunSql) => Promise<T>): Promise<T> {
    return inTransaction(this.#pool, task);
  }

  async createTables(): Promise<void> {
    const { table, statements } = this;
    await this.transaction(async (run) => {
      await run('SELECT pg_advisory_xact_lock(hashtext(:name))', { name: `x:${table}` });
      await run(`CREATE TABLE IF NOT EXISTS ${table}_format (format INTEGER NOT NULL)`, {});
      const { rows } = await run(statements.format, {});
      if (rows.length === 0) await run(schemaOf(table, SQL_FORMAT), {});
    });
  }

  async load(id: Uint8Array, last: number): Promise<LoadedRows | undefined> {
    const [session, ...messages] = (await this.run(this.statements.load, { id, last })).rows;
    if (session === undefined) return undefined;
    return {
      token: String(session.token),
      version: Number(session.version),
      count: Number(session.count),
      head: String(session.body),
      updatedAt: session.time as Date,
      messages: messages.map(({ seq, body }) => ({ seq: Number(seq), text: String(body) })),
    };
  }

  async append({ change, ...write }: SqlWrite<string>): Promise<number | undefined> {
    const { operation, expected, keep, fence } = change;
    if (expected === undefined) return undefined;
    const values = { ...write, operation, expected, keep, fence, lifetime: this.lifetime };
    const { rows } = await this.run(this.statements.append, values);
    return rows[0] && Number(rows[0].version);
  }

  async insert(run: RunSql, values: SqlValues): Promise<unknown> {
    return (await run(this.statements.insert, values)).rows[0]?.id;
  }

  async add(run: RunSql, row: unknown, keep: number, messages: readonly string[]): Promise<void> {
    await run(this.statements.add, { row, keep, messages });
  }

  operationsOf({ token, earlier }: SqlRow): readonly string[] {
    return [...(String(earlier).match(/.{8}/gs) ?? []), String(token)];
  }

  async delete(id: Uint8Array, token: string | undefined): Promise<boolean> {
    const { rows } = await this.run(this.statements.delete, { id, token });
    return rows[0]?.lived === true;
  }

  async forget(run: RunSql, id: Uint8Array): Promise<void> {
    await run(this.statements.deleteOld, { ids: [id], olderThan: new Date(0) });
  }

  async deleteOld(olderThan: Date, limit: number): Promise<number | undefined> {
    const { old, holdLeases, deleteOld, forgetLeases } = this.statements;
    const { rows } = await this.run(old, { olderThan, limit: Math.min(PAGE, limit) });
    if (rows.length === 0) return undefined;
    return this.transaction(async (run) => {
      const held = await run(holdLeases, { ids: rows.map((row) => row.key_hash) });
      const ids = held.rows.map((row) => row.key_hash);
      const gone = await run(deleteOld, { ids, olderThan });
      await run(forgetLeases, { ids });
      return gone.rows.length;
    });
  }
}
