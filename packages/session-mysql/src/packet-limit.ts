import { type SessionKey, SessionStoreError } from '@x/core';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { execute } from './execute.js';
import { attempt } from './store-error.js';

/** What servers take at least, as they come: nobody needs to be asked about less. */
const UNQUESTIONED = 1 << 20;
/** What goes with the largest value in a packet; a chunk of rows beside it is smaller than it or goes alone. */
const OVERHEAD = 64 << 10;

interface LimitRow extends RowDataPacket {
  readonly bytes: number | string;
}

/**
 * Refuses what the server would refuse by closing the connection, without a word of the reason in most cases.
 *
 * @throws {SessionStoreError} `session_unavailable` with the remedy.
 */
export async function checkPacketLimit(
  pool: Pool,
  key: SessionKey,
  values: readonly Buffer[],
): Promise<void> {
  const largest = values.reduce((most, { length }) => Math.max(most, length), 0);
  if (largest <= UNQUESTIONED - OVERHEAD) return;
  const sql = 'SELECT @@max_allowed_packet AS bytes';
  const [row] = await attempt(key, () => execute<LimitRow[]>(pool, sql, []));
  if (largest + OVERHEAD <= Number(row?.bytes)) return;
  throw new SessionStoreError(
    'session_unavailable',
    `Session ${key} has a message or head of ${largest} bytes, more than the server's max_allowed_packet of ${row?.bytes} ` +
      `allows; nothing was written. Set max_allowed_packet to ${2 * largest} bytes or more, or keep large tool results ` +
      'out of the context.',
    { sessionKey: key.toString() },
  );
}
