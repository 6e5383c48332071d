import type { Pool, PoolConnection } from 'mysql2/promise';
import { checkPool } from './check-pool.js';
import { isReadOnly } from './store-error.js';

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
