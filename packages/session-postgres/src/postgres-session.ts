import { parseWith, SqlSession } from '@x/core/internal';
import type { Pool } from 'pg';
import * as z from 'zod';
import { postgresDialect } from './postgres-dialect.js';

const optionsSchema = z.strictObject({
  /** A `Pool` of `pg`. The caller owns the pool: the store never closes it. */
  pool: z.custom<Pool>(
    (pool) => typeof (pool as Pool | undefined)?.connect === 'function' && 'totalCount' in (pool as Pool),
    'must be a Pool of pg',
  ),
  /** Name of the table of sessions, and prefix of the other tables' names. Default `agent_sessions`. */
  table: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,47}$/, 'must be at most 48 lower-case letters, digits and _, no digit first')
    .default('agent_sessions'),
});

/** Options of a `PostgresSession`. */
export type PostgresSessionOptions = Readonly<z.input<typeof optionsSchema>>;

/**
 * Stores sessions in PostgreSQL 12 or later. A commit is usually one statement, and writes only what it adds.
 *
 * @example
 * ```ts
 * const store = new PostgresSession({ pool: new Pool({ connectionString: process.env.DATABASE_URL }) });
 * await store.createTables();
 * ```
 */
export class PostgresSession extends SqlSession<string> {
  /** @throws {InvalidInputError} for unknown or invalid options. */
  constructor(options: PostgresSessionOptions) {
    const { pool, table } = parseWith(optionsSchema, options, 'PostgresSession options');
    super(postgresDialect(pool, table));
  }
}
