import { createHash } from 'node:crypto';
import type { LoadedRows, RunSql, SqlDialect, SqlListing, SqlRow, SqlValues, SqlWrite } from '@x/core';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { AppendProcedure } from './append-procedure.js';
import { createTables } from './create-tables.js';
import { execute, inTransaction, runOn } from './execute.js';
import { checkPacketLimit, chunkRows } from './packets.js';
import { EARLIER_BYTES, fromToken, type Statements, statementsFor, toToken } from './statements.js';
import { judge } from './store-error.js';

const DUPLICATE_ENTRY = 1062;
/** Bounds of one transaction of a retention. A session is never divided, so that one with more messages goes alone. */
const PAGE = 100;
const PAGE_MESSAGES = 10_000;

/**
 * A row that the load statement answers. The session's own has seq -1, its head as body, and in one text what else there
 * is: `<version> <number of messages> <time> <operation>`. The others are messages.
 */
type LoadedRow = readonly [seq: number | string, body: Buffer, info: string | null];

/** MySQL and MariaDB: texts are sent as bytes, so that no character set of a connection can change them. */
export class MysqlDialect implements SqlDialect<Buffer> {
  readonly database = 'the database';
  readonly owner = '@x/session-mysql';
  readonly table: string;
  readonly lifetime = 0;
  readonly statements: Statements;
  readonly listing: SqlListing;
  readonly judge = judge;
  readonly run: RunSql;
  readonly #pool: Pool;
  readonly #procedure: AppendProcedure;

  constructor(pool: Pool, table: string) {
    this.#pool = pool;
    this.table = table;
    this.statements = statementsFor(table);
    this.run = runOn(pool);
    this.#procedure = new AppendProcedure(pool, table);
    this.listing = {
      select: this.statements.list,
      suffix: '_hash',
      part: (encoded) => this.hash(encoded).subarray(0, 16),
      lives: 'TRUE',
      behind: 'updated_at <= :time AND (updated_at < :time OR id < CAST(:id AS UNSIGNED))',
      time: (milliseconds) => sqlTime(new Date(milliseconds)),
    };
  }

  hash(text: string): Buffer {
    return createHash('sha256').update(text).digest();
  }

  token(token: string): Buffer {
    return fromToken(token);
  }

  textOf(json: string): Buffer {
    return Buffer.from(json);
  }

  sizeOf({ length }: Buffer): number {
    return length;
  }

  transaction<T>(task: (run: RunSql) => Promise<T>): Promise<T> {
    return inTransaction(this.#pool, task);
  }

  createTables(): Promise<void> {
    return createTables(this.#pool, this.table, this.statements.format);
  }

  async load(id: Uint8Array, last: number): Promise<LoadedRows | undefined> {
    const values = [id as Buffer, id as Buffer, String(last)];
    const answer = await execute<RowDataPacket[][]>(this.#pool, this.statements.load, values, true);
    // They come in the order of the primary key, as a rule; nobody promises it.
    const rows = [...(answer as unknown as readonly LoadedRow[])];
    const [session, ...messages] = rows.sort(([left], [right]) => Number(left) - Number(right));
    if (session === undefined) return undefined;
    const [version, count, updatedAt = '', operation = ''] = session[2]?.split(' ') ?? [];
    return {
      token: toToken(Buffer.from(operation, 'hex')),
      version: Number(version),
      count: Number(count),
      head: String(session[1]),
      updatedAt: new Date(updatedAt),
      messages: messages.map(([seq, body]) => ({ seq: Number(seq), text: body.toString('utf8') })),
    };
  }

  async append(write: SqlWrite<Buffer>): Promise<number | undefined> {
    await checkPacketLimit(this.#pool, write);
    return this.#procedure.append(write);
  }

  async isAbsent(id: Uint8Array): Promise<boolean> {
    return (await this.run(this.statements.exists, { id })).rows.length === 0;
  }

  async insert(run: RunSql, values: SqlValues): Promise<unknown> {
    try {
      return (await run(this.statements.insert, values)).rows[0]?.insertId;
    } catch (error) {
      if ((error as { errno?: number }).errno === DUPLICATE_ENTRY) return undefined;
      throw error;
    }
  }

  async add(run: RunSql, row: unknown, keep: number, messages: readonly Buffer[]): Promise<void> {
    let seq = keep;
    for (const chunk of chunkRows(messages)) {
      const values: Record<string, unknown> = { row };
      for (const [index, message] of chunk.entries()) {
        values[`seq${index}`] = seq++;
        values[`message${index}`] = message;
      }
      await run(this.statements.add(chunk.length), values);
    }
  }

  operationsOf({ operation, earlier }: SqlRow): readonly string[] {
    const bytes = earlier as Buffer;
    const prefixes = Array.from({ length: bytes.length / EARLIER_BYTES }, (_, index) =>
      toToken(bytes.subarray(index * EARLIER_BYTES, (index + 1) * EARLIER_BYTES)),
    );
    return [...prefixes, toToken(operation as Buffer)];
  }

  async delete(id: Uint8Array, token: string | undefined): Promise<boolean> {
    const { forgetLease, delete: remove } = this.statements;
    // First, so that its holder does not write in between; where the session may be another, only once it is gone.
    if (token === undefined) await this.run(forgetLease, { id });
    const operation = token === undefined ? null : fromToken(token);
    const { changed } = await this.run(remove, { id, operation });
    if (token !== undefined && changed > 0) await this.run(forgetLease, { id });
    return changed > 0;
  }

  async deleteOld(olderThan: Date, limit: number): Promise<number | undefined> {
    const { old, lockOld, deleteMessages, deleteSessions, forgetLeases } = this.statements;
    const time = sqlTime(olderThan);
    const { rows: found } = await this.run(old(Math.min(PAGE, limit)), { time });
    if (found.length === 0) {
      // Leases of that time; the next one of a session begins with a larger fence all the same.
      while ((await this.run(forgetLeases, { time })).changed > 0);
      return undefined;
    }
    let messages = 0;
    const few = found.filter(({ count }, index) => {
      messages += Number(count);
      return index === 0 || messages <= PAGE_MESSAGES;
    });
    return this.transaction(async (run) => {
      // Looks again under a lock: who has been changed meanwhile stays.
      const { rows } = await run(lockOld(few.length), { time, ...numbered(few) });
      if (rows.length === 0) return 0;
      await run(deleteMessages(rows.length), numbered(rows));
      await run(deleteSessions(rows.length), numbered(rows));
      return rows.length;
    });
  }
}

/** The ids of rows as `:id0`, `:id1` and so on. */
function numbered(rows: readonly SqlRow[]): SqlValues {
  return Object.fromEntries(rows.map(({ id }, index) => [`id${index}`, String(id)]));
}

function sqlTime(time: Date): string {
  return time.toISOString().slice(0, -1).replace('T', ' ');
}
