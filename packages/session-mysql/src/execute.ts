import type { Pool, PoolConnection, QueryResult } from 'mysql2/promise';

/**
 * Runs a prepared statement: values never become part of its text, whatever the server's SQL mode. What a pool may
 * change in the shape of rows is put back to the default.
 */
export async function execute<Result extends QueryResult>(
  runner: Pool | PoolConnection,
  sql: string,
  values: readonly (string | number | Buffer | null)[],
): Promise<Result> {
  const shape = { rowsAsArray: false, nestTables: false, namedPlaceholders: false, typeCast: true };
  const [result] = await runner.execute<Result>({ sql, ...shape }, [...values]);
  return result;
}
