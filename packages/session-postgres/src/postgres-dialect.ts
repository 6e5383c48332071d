import { createHash } from 'node:crypto';
import { type RunSql, SQL_FORMAT, type SqlDialect } from '@x/core/internal';
import type { Pool } from 'pg';
import { inTransaction, judge, runOn, withConnection } from './connection.js';
import { schemaOf } from './schema.js';
import { statementsFor } from './statements.js';

/** Error codes of a prepared statement that does not exist, or already exists. Some poolers send statements to any connection. */
const UNPREPARED = ['26000', '42P05'];

/** The dialect of PostgreSQL. Text is sent as strings. */
export function postgresDialect(pool: Pool, table: string): SqlDialect<string> {
  const statements = statementsFor(table);
  const run = runnerOf(pool, false);
  const commit = committer(pool, statements.append);
  return {
    database: 'PostgreSQL',
    owner: '@x/session-postgres',
    subject: `The table ${table}`,
    reach: 'cluster',
    statements,
    listing: {
      select: statements.list,
      suffix: '_hash',
      // Half of the hash, because every commit writes it to the indexes again.
      part: (encoded) => hash(encoded).subarray(0, 16),
      behind: '(updated_at, id) < (:time, :id)',
      time: (milliseconds) => new Date(milliseconds),
    },
    judge,
    idOf: hash,
    token: (token) => token,
    textOf: (json) => json,
    run,
    beat: runnerOf(pool, true),
    transaction: (task) => inTransaction(pool, task),
    createTables: () =>
      inTransaction(pool, async (run) => {
        await run('SELECT pg_advisory_xact_lock(hashtext(:name))', { name: `x:${table}` });
        await run(`CREATE TABLE IF NOT EXISTS ${table}_format (format INTEGER NOT NULL)`, {});
        const { rows } = await run(statements.format, {});
        if (rows.length === 0) await run(schemaOf(table, SQL_FORMAT), {});
      }),
    async load(id, last) {
      const [session, ...messages] = (await run(statements.load, { id, last })).rows;
      if (session === undefined) return undefined;
      return {
        token: String(session.token),
        version: Number(session.version),
        count: Number(session.count),
        head: String(session.body),
        // The driver returns `infinity` as a number.
        updatedAt: new Date(session.time as Date | number),
        messages: messages.map(({ seq, body }) => ({ seq: Number(seq), text: String(body) })),
      };
    },
    async append({ change: { operation, expected, keep, fence }, ...write }) {
      if (expected === undefined) return undefined;
      const { rows } = await commit({ ...write, operation, expected, keep, fence });
      return rows[0] && Number(rows[0].version);
    },
    insert: async (run, values) => (await run(statements.insert, values)).rows[0]?.id,
    add: (run, row, keep, messages) => run(statements.add, { row, keep, messages }),
    operationsOf: ({ token, earlier }) => [...(String(earlier).match(/.{8}/gs) ?? []), String(token)],
    async delete(run, id, token) {
      const { rows } = await run(statements.delete, { id, token });
      return rows.length > 0;
    },
  };
}

function runnerOf(pool: Pool, isUrgent: boolean, name?: string): RunSql {
  return (statement, values) =>
    withConnection(pool, (connection) => runOn(connection, name)(statement, values), isUrgent);
}

/** Returns a function that runs the statement of a commit, prepared once per connection, because planning takes a third of its time. */
function committer(pool: Pool, statement: string): (values: Parameters<RunSql>[1]) => ReturnType<RunSql> {
  // The name contains the statement's hash, so that different versions of this package never use the same name.
  const runPrepared = runnerOf(pool, false, `x_${hash(statement).toString('hex', 0, 12)}`);
  const run = runnerOf(pool, false);
  let isPrepared = true;
  return async (values) => {
    if (!isPrepared) return run(statement, values);
    return runPrepared(statement, values).catch((error) => {
      if (!UNPREPARED.includes(error.code)) throw error;
      isPrepared = false;
      return run(statement, values);
    });
  };
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
