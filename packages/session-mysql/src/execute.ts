import { InvalidInputError } from '@x/core';
import type { Pool, PoolConnection, QueryResult, RowDataPacket } from 'mysql2/promise';
import { isReadOnly } from './store-error.js';

const SHAPE = { rowsAsArray: false, nestTables: false, namedPlaceholders: false, typeCast: true } as const;

type Values = readonly (string | number | Buffer | null)[];

/**
 * Runs a prepared statement: values never become part of its text, whatever the server's SQL mode. What a pool may
 * change in the shape of rows is put back to the default.
 */
export async function execute<Result extends QueryResult>(
  runner: Pool | PoolConnection,
  sql: string,
  values: Values,
): Promise<Result> {
  return onConnection(runner, async (connection) => {
    const [result] = await connection.execute<Result>({ sql, ...SHAPE }, [...values]);
    return result;
  });
}

/** Runs {@link execute} with rows as arrays: less work where there are thousands. */
export async function executeArrays<Row extends readonly unknown[]>(
  runner: Pool | PoolConnection,
  sql: string,
  values: Values,
): Promise<readonly Row[]> {
  return onConnection(runner, async (connection) => {
    const [rows] = await connection.execute<RowDataPacket[][]>({ sql, ...SHAPE, rowsAsArray: true }, [
      ...values,
    ]);
    return rows as unknown as readonly Row[];
  });
}

async function onConnection<T>(
  runner: Pool | PoolConnection,
  task: (connection: PoolConnection) => Promise<T>,
): Promise<T> {
  if (!isPool(runner)) return task(runner);
  await checkPool(runner);
  const connection = await runner.getConnection();
  let isUsable = true;
  try {
    return await task(connection);
  } catch (error) {
    isUsable = !isReadOnly(error);
    throw error;
  } finally {
    // After a failover a connection may lead to what is a replica now: the next one leads to the new master.
    if (isUsable) connection.release();
    else connection.destroy();
  }
}

/** Does `task` in a transaction of its own. Whatever it throws, nothing of it remains. */
export async function inTransaction<T>(
  pool: Pool,
  task: (connection: PoolConnection) => Promise<T>,
): Promise<T> {
  await checkPool(pool);
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    const result = await task(connection);
    await connection.commit();
    connection.release();
    return result;
  } catch (error) {
    await connection.rollback().then(
      () => (isReadOnly(error) ? connection.destroy() : connection.release()),
      // Closing the connection rolls back as well.
      () => connection.destroy(),
    );
    throw error;
  }
}

function isPool(runner: Pool | PoolConnection): runner is Pool {
  return typeof (runner as Partial<Pool>).getConnection === 'function';
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
