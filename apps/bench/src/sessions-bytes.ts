import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import type { Pool as Pg } from 'pg';

/** What Redis has appended to its file so far. */
export async function bytesToDisk(client: Redis): Promise<number> {
  return Number(/aof_current_size:(\d+)/.exec(await client.info('persistence'))?.[1]);
}

/** What a MySQL server was sent so far, over all connections. */
export async function bytesReceived(pool: Pool): Promise<number> {
  const [rows] = await pool.query<RowDataPacket[]>(`SHOW GLOBAL STATUS LIKE 'Bytes_received'`);
  return Number(rows[0]?.Value);
}

/** What PostgreSQL has written to its log so far. */
export async function bytesLogged(pool: Pg): Promise<number> {
  const { rows } = await pool.query(`SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes`);
  return Number(rows[0].bytes);
}

/** What this process has written to files and sockets so far, where the system tells. */
export function bytesOfProcess(): number {
  try {
    return Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
  } catch {
    return Number.NaN;
  }
}
