import { InvalidInputError } from '@x/core';
import { namedValues, type RunSql } from '@x/core/internal';
import type { Pool, PoolConnection, QueryResult, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { isReadOnly } from './store-error.js';

const SHAPE = { nestTables: false, namedPlaceholders: false, typeCast: true } as const;

type Values = readonly (string | number | Buffer | null)[];

/**
 * Runs a prepared statement. Values never become part of its text, whatever the server's SQL mode. Resets the options of a pool that
 * change the shape of rows.
 *
 * @param rowsAsArray Returns rows as arrays, which is faster for thousands of rows.
 */
export async function execute<Result extends QueryResult>(
  runner: Pool | PoolConnection,
  sql: string,
  values: Values,
  rowsAsArray = false,
): Promise<Result> {
  if ('getConnection' in runner)
    return withConnection(runner, (connection) => execute<Result>(connection, sql, values, rowsAsArray));
  const [result] = await runner.execute<Result>({ sql, ...SHAPE, rowsAsArray }, [...values]);
  return result;
}

const bind = namedValues();

/** Returns a function that runs statements with named values. For a pool, each statement gets its own connection. */
export function runOn(runner: Pool | PoolConnection): RunSql {
  return async (statement, named) => {
    const { text, values } = bind(statement, named);
    const result = await execute<RowDataPacket[] | ResultSetHeader>(runner, text, values as Values);
    if (Array.isArray(result)) return { rows: result, changed: 0 };
    return { rows: [{ insertId: result.insertId }], changed: result.affectedRows };
  };
}

/** The fields of a driver's pool that this package reads and changes. */
interface PoolSize {
  readonly config: { connectionLimit: number };
  readonly _allConnections: { readonly length: number };
  readonly _freeConnections: { readonly length: number };
}

/**
 * Runs a task on a connection of the pool, and returns the connection to the pool if it is still usable.
 *
 * @param isUrgent Does not wait if all connections are in use, but opens one above the limit of the pool and closes it afterwards.
 */
export async function withConnection<T>(
  pool: Pool,
  task: (connection: PoolConnection) => Promise<T>,
  isUrgent = false,
): Promise<T> {
  await checkPool(pool);
  const { config, _allConnections: all, _freeConnections: free } = pool.pool as unknown as PoolSize;
  const { connectionLimit } = config;
  const isExtra =
    isUrgent && free.length === 0 && all.length >= (connectionLimit || Number.POSITIVE_INFINITY);
  // The pool compares its size with the limit before `getConnection` returns. 0: no limit.
  if (isExtra) config.connectionLimit = 0;
  const connecting = pool.getConnection();
  config.connectionLimit = connectionLimit;
  const connection = await connecting;
  let isGood = !isExtra;
  try {
    return await task(connection);
  } catch (error) {
    // After a failover, the connection may still go to the old primary, which is now a replica. A new connection goes to the new primary.
    isGood &&= !isReadOnly(error);
    throw error;
  } finally {
    if (isGood) connection.release();
    else connection.destroy();
  }
}

/** Runs `task` in a new transaction, which is rolled back if `task` throws. */
export function inTransaction<T>(pool: Pool, task: (run: RunSql) => Promise<T>): Promise<T> {
  return withConnection(pool, async (connection) => {
    try {
      await connection.beginTransaction();
      const result = await task(runOn(connection));
      await connection.commit();
      return result;
    } catch (error) {
      // Closing the connection rolls back as well.
      await connection.rollback().catch(() => connection.destroy());
      throw error;
    }
  });
}

const pools = new WeakMap<Pool, Promise<void>>();

/**
 * Checks once if the settings of a pool's connections are suitable.
 *
 * @throws {InvalidInputError} if autocommit is off, because deletions would be rolled back, or if loads would read uncommitted data.
 */
export function checkPool(pool: Pool): Promise<void> {
  const known = pools.get(pool);
  if (known !== undefined) return known;
  const looking = look(pool);
  pools.set(pool, looking);
  // If the check failed because of the server, the next call checks again.
  looking.catch((error) => InvalidInputError.isInstance(error) || pools.delete(pool));
  return looking;
}

async function look(pool: Pool): Promise<void> {
  const connection = await pool.getConnection();
  // MariaDB and MySQL name the isolation differently.
  const sql = `SHOW VARIABLES WHERE Variable_name IN ('autocommit', 'tx_isolation', 'transaction_isolation')`;
  const [rows] = await connection
    .query<RowDataPacket[][]>({ sql, rowsAsArray: true })
    .finally(() => connection.release());
  const settings = new Map(rows.map(([name, value]) => [String(name), String(value)]));
  const isolation = settings.get('transaction_isolation') ?? settings.get('tx_isolation');
  const wrong = [
    ...(settings.get('autocommit') === 'OFF' ? ['autocommit = 1'] : []),
    ...(isolation === 'READ-UNCOMMITTED' ? ["transaction_isolation = 'READ-COMMITTED' or stricter"] : []),
  ];
  if (wrong.length === 0) return;
  const message = `has connections with unsuitable settings. Set ${wrong.join(' and ')} for them`;
  throw new InvalidInputError('MysqlSession options', [{ path: 'pool', message }]);
}
