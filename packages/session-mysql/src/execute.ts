import { InvalidInputError } from '@x/core';
import { namedValues, type RunSql } from '@x/core/internal';
import type { Pool, PoolConnection, QueryResult, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { isReadOnly } from './store-error.js';

const SHAPE = { nestTables: false, namedPlaceholders: false, typeCast: true } as const;

type Values = readonly (string | number | Buffer | null)[];

/**
 * Runs a prepared statement: values never become part of its text, whatever the server's SQL mode. What a pool may
 * change in the shape of rows is put back to the default.
 *
 * @param rowsAsArray Less work where there are thousands of rows.
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

/** Runs statements with named values, each on a connection of its own where it is given a pool. */
export function runOn(runner: Pool | PoolConnection): RunSql {
  return async (statement, named) => {
    const { text, values } = bind(statement, named);
    const result = await execute<RowDataPacket[] | ResultSetHeader>(runner, text, values as Values);
    if (Array.isArray(result)) return { rows: result, changed: 0 };
    return { rows: [{ insertId: result.insertId }], changed: result.affectedRows };
  };
}

/** Does something on a connection of its own, which others use afterwards if it is good for that. */
async function withConnection<T>(pool: Pool, task: (connection: PoolConnection) => Promise<T>): Promise<T> {
  await checkPool(pool);
  const connection = await pool.getConnection();
  let isGood = true;
  try {
    return await task(connection);
  } catch (error) {
    // After a failover a connection may lead to what is a replica now: the next one leads to the new master.
    isGood = !isReadOnly(error);
    throw error;
  } finally {
    if (isGood) connection.release();
    else connection.destroy();
  }
}

/** Runs `task` in a new transaction. If it throws, nothing of it remains. */
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
 * Looks once whether the connections of a pool are set as the statements need it.
 *
 * @throws {InvalidInputError} without autocommit, where a deletion would be taken back, or where a load reads what others
 * have not committed.
 */
export function checkPool(pool: Pool): Promise<void> {
  const known = pools.get(pool);
  if (known !== undefined) return known;
  const looking = look(pool);
  pools.set(pool, looking);
  // A server that could not be asked is asked again.
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
  const message = `has connections that sessions cannot be kept with; set ${wrong.join(' and ')} for them`;
  throw new InvalidInputError('MysqlSession options', [{ path: 'pool', message }]);
}
