import { InvalidInputError } from '@x/core';
import type { Pool, RowDataPacket } from 'mysql2/promise';

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
