import { createHash } from 'node:crypto';
import type { SqlDialect } from '@x/core/internal';
import { lastOf } from '@x/core/store';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { createTables } from './create-tables.js';
import { execute, inTransaction, runOn, withConnection } from './execute.js';
import { checkPacketLimit, chunkRows } from './packets.js';
import { fromToken, statementsFor, TAIL_BYTES, toToken } from './statements.js';
import { judge } from './store-error.js';

const DUPLICATE_ENTRY = 1062;

/**
 * A row of the load statement. The row of the session has seq -1, its head as the body, and the other values as lines: version,
 * number of messages, time, operation, and the messages of the tail. All other rows are messages.
 */
type LoadedRow = readonly [seq: number | string, body: Buffer, info: Buffer | null];

/** Ends each message of a tail. JSON never contains a line end. */
const LINE_END = '\n';

/** The dialect of MySQL and MariaDB. Text is sent as bytes, so that a connection's character set cannot change it. */
export function mysqlDialect(pool: Pool, table: string): SqlDialect<Buffer> {
  // Long because it is the list of everything in which MySQL differs from other servers.
  const statements = statementsFor(table);
  const run = runOn(pool);
  return {
    database: 'the database',
    owner: '@x/session-mysql',
    subject: `The table ${table}`,
    reach: 'cluster',
    statements,
    listing: {
      select: statements.list,
      suffix: '_hash',
      part: (encoded) => hash(encoded).subarray(0, 16),
      behind: 'updated_at <= :time AND (updated_at < :time OR id < CAST(:id AS UNSIGNED))',
      time: (milliseconds) => sqlTime(new Date(milliseconds)),
    },
    judge,
    idOf: hash,
    token: fromToken,
    textOf: (json) => Buffer.from(json),
    run,
    beat: (statement, values) =>
      withConnection(pool, (connection) => runOn(connection)(statement, values), true),
    transaction: (task) => inTransaction(pool, task),
    createTables: () => createTables(pool, table, statements.format),
    async load(id, last) {
      const values = [id as Buffer, id as Buffer, String(last)];
      const answer = await execute<RowDataPacket[][]>(pool, statements.load, values, true);
      // Rows usually come in the order of the primary key, but the server does not guarantee it.
      const rows = [...(answer as unknown as readonly LoadedRow[])];
      const [session, ...messages] = rows.sort(([left], [right]) => Number(left) - Number(right));
      if (session === undefined) return undefined;
      const [version, count, updatedAt = '', operation = '', ...lines] = String(session[2])
        .split(LINE_END)
        .slice(0, -1);
      const tail = lines.map((text, index) => ({ seq: Number(count) - lines.length + index, text }));
      return {
        token: toToken(Buffer.from(operation, 'hex')),
        version: Number(version),
        count: Number(count),
        head: String(session[1]),
        updatedAt: new Date(updatedAt),
        messages: [
          ...messages.map(([seq, body]) => ({ seq: Number(seq), text: body.toString('utf8') })),
          ...lastOf(tail, last),
        ],
      };
    },
    async append(write) {
      await checkPacketLimit(pool, write);
      const { id, head, description, messages, bytes } = write;
      const { operation, expected, keep, fence } = write.change;
      const lines = Buffer.from(messages.map((message) => message + LINE_END).join(''));
      if (expected === undefined || lines.length > TAIL_BYTES) return undefined;
      const { rows, changed } = await run(statements.append, {
        ...{ id, head, description, bytes, keep, fence, count: keep + messages.length },
        ...{ operation: fromToken(operation), expected: fromToken(expected), lines, size: lines.length },
      });
      return changed > 0 ? Number(rows[0]?.insertId) : undefined;
    },
    async insert(run, values) {
      try {
        return (await run(statements.insert, values)).rows[0]?.insertId;
      } catch (error) {
        if ((error as { errno?: number }).errno === DUPLICATE_ENTRY) return undefined;
        throw error;
      }
    },
    async add(run, row, keep, messages) {
      let seq = keep;
      for (const chunk of chunkRows(messages)) {
        const rows = chunk.map((message, index) => ({
          [`seq${index}`]: seq++,
          [`message${index}`]: message,
        }));
        await run(statements.add(chunk.length), Object.assign({ row }, ...rows));
      }
    },
    operationsOf({ operation, earlier }) {
      const prefixes = (earlier as Buffer).toString('hex').match(/.{12}/g) ?? [];
      return [...prefixes.map((prefix) => toToken(Buffer.from(prefix, 'hex'))), toToken(operation as Buffer)];
    },
    async delete(run, id, token) {
      // Delete the lease first, so that its holder cannot write in between. With a token, delete it only if the session was deleted.
      if (token === undefined) await run(statements.forgetLease, { id });
      const operation = token === undefined ? null : fromToken(token);
      const { changed } = await run(statements.delete, { id, operation });
      if (token !== undefined && changed > 0) await run(statements.forgetLease, { id });
      return changed > 0;
    },
  };
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The latest time that a DATETIME column can store. */
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function sqlTime(time: Date): string {
  const held = new Date(Math.min(Math.max(time.getTime(), 0), LAST_TIME));
  return held.toISOString().slice(0, -1).replace('T', ' ');
}
