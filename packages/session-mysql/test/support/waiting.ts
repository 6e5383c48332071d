import type { Pool, RowDataPacket } from 'mysql2/promise';

/** Until so many transactions on a table wait for a lock. (The view `innodb_trx` may be old: it is cached.) */
export async function waiting(pool: Pool, table: string, count: number): Promise<void> {
  for (;;) {
    const [[row]] = await pool.query<RowDataPacket[]>('SHOW ENGINE INNODB STATUS');
    const transactions = String(row?.Status).split('---TRANSACTION').slice(1);
    const found = transactions.filter((text) => text.includes('LOCK WAIT') && text.includes(table));
    if (found.length >= count) return;
  }
}
