import type { Redis } from 'ioredis';
import type { Pool, RowDataPacket } from 'mysql2/promise';

/** What Redis has appended to its file so far. */
export async function bytesToDisk(client: Redis): Promise<number> {
  return Number(/aof_current_size:(\d+)/.exec(await client.info('persistence'))?.[1]);
}

/** What a MySQL server was sent so far, over all connections. */
export async function bytesReceived(pool: Pool): Promise<number> {
  const [rows] = await pool.query<RowDataPacket[]>(`SHOW GLOBAL STATUS LIKE 'Bytes_received'`);
  return Number(rows[0]?.Value);
}
