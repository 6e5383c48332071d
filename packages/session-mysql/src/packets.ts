import { SessionStoreError } from '@x/core';
import type { SqlWrite } from '@x/core/internal';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { execute } from './execute.js';

/** Maximum number of rows per packet. */
const MAX_ROWS = 64;
/** Bytes reserved in each packet for everything except its values. */
const OVERHEAD = 64 << 10;
/** Maximum bytes of values per packet, because every server accepts packets of 1 MB. A single larger row gets its own packet. */
const MAX_BYTES = (1 << 20) - OVERHEAD;

function sizeOf(rows: readonly Buffer[]): number {
  return rows.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Splits rows into inserts of bounded size. The numbers of rows are powers of two, because the server keeps one prepared statement for
 * each number.
 */
export function* chunkRows(rows: readonly Buffer[]): Iterable<readonly Buffer[]> {
  for (let start = 0; start < rows.length; ) {
    let chunk = rows.slice(start, start + MAX_ROWS);
    chunk = chunk.slice(0, 2 ** Math.floor(Math.log2(chunk.length)));
    while (chunk.length > 1 && sizeOf(chunk) > MAX_BYTES) chunk = chunk.slice(0, chunk.length / 2);
    yield chunk;
    start += chunk.length;
  }
}

/**
 * Rejects values that are too large for the server, which would usually close the connection without a reason.
 *
 * @throws {SessionStoreError} `session_unavailable` with the remedy.
 */
export async function checkPacketLimit(
  pool: Pool,
  { key, head, description, messages }: SqlWrite<Buffer>,
): Promise<void> {
  const largest = messages.reduce(
    (most, { length }) => Math.max(most, length),
    head.length + description.length,
  );
  if (largest <= MAX_BYTES) return;
  const sql = 'SELECT @@max_allowed_packet AS bytes';
  const [row] = await execute<RowDataPacket[]>(pool, sql, []);
  if (largest + OVERHEAD <= Number(row?.bytes)) return;
  throw new SessionStoreError(
    'session_unavailable',
    `Session ${key} has a message or head of ${largest} bytes, more than the server's max_allowed_packet of ${row?.bytes} ` +
      `allows. Nothing was written. Set max_allowed_packet to ${2 * largest} bytes or more, or keep large tool results ` +
      'out of the context.',
    { sessionKey: key.toString(), outcome: 'none' },
  );
}
