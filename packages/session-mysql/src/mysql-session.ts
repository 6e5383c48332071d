import { parseWith, SqlSession } from '@x/core/internal';
import type { Pool } from 'mysql2/promise';
import * as z from 'zod';
import { mysqlDialect } from './mysql-dialect.js';

const optionsSchema = z.strictObject({
  /** A pool of `mysql2/promise`, with autocommit on. The caller owns the pool: the store never closes it. */
  pool: z.custom<Pool>(
    (pool) => typeof (pool as Pool | undefined)?.getConnection === 'function' && !isCallbackPool(pool),
    'must be a pool created with createPool of mysql2/promise',
  ),
  /** Name of the table of sessions, and prefix of the other tables' names. Default `agent_sessions`. */
  table: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,47}$/, 'must be at most 48 letters, digits and _, no digit first')
    .default('agent_sessions'),
});

/** Options of a `MysqlSession`. */
export type MysqlSessionOptions = Readonly<z.input<typeof optionsSchema>>;

/**
 * Stores sessions in MySQL 8 or MariaDB. A commit writes only new messages, most often in one round trip.
 *
 * @example
 * ```ts
 * const store = new MysqlSession({ pool: createPool({ uri: process.env.DATABASE_URL }) });
 * await store.createTables();
 * ```
 */
export class MysqlSession extends SqlSession<Buffer> {
  /** @throws {InvalidInputError} for unknown or invalid options. */
  constructor(options: MysqlSessionOptions) {
    const { pool, table } = parseWith(optionsSchema, options, 'MysqlSession options');
    super(mysqlDialect(pool, table));
  }
}

// mysql2 has two APIs. Pools of the one with callbacks have `promise()`.
function isCallbackPool(pool: unknown): boolean {
  return typeof (pool as { promise?: unknown }).promise === 'function';
}
