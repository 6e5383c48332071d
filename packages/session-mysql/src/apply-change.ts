import { checkCommit, type SessionChange, type SessionKey, SessionStoreError } from '@x/core';
import type { Pool, PoolConnection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { execute } from './execute.js';
import { EARLIER_BYTES, hashPart, SCOPE_COLUMNS, type Statements, toToken } from './statements.js';
import { attempt } from './store-error.js';

const DUPLICATE_ENTRY = 1062;
/** Rows that one packet takes. */
export const MAX_ROWS = 64;
/** What goes with the values in a packet. */
const OVERHEAD = 64 << 10;
/** Bytes of values that one packet takes: no server is set up for less than 1 MB. A single row that is larger goes alone. */
export const MAX_BYTES = (1 << 20) - OVERHEAD;

/** A change as it is written. */
export interface Write {
  readonly collection: string;
  readonly key: SessionKey;
  /** What the record is found by. */
  readonly hash: Buffer;
  readonly change: SessionChange;
  readonly head: Buffer;
  readonly description: Buffer;
  readonly rows: readonly Buffer[];
  /** The change's operation. When a reply is lost, the next attempt finds it in the row, or does it all again. */
  readonly operation: Buffer;
}

interface LockedRow extends RowDataPacket {
  readonly id: number | string;
  readonly version: number | string;
  readonly count: number | string;
  readonly bytes: number | string;
  readonly operation: Buffer;
  readonly earlier: Buffer;
}

/**
 * Writes a change in a transaction, whatever it is, and answers the version that it made.
 *
 * @param isNew whether there was no such session a moment ago.
 * @throws {SessionConflictError} when another token is current.
 * @throws {InvalidInputError} when `keep` does not fit what is stored.
 * @throws {SessionLeaseError} `lease_lost` when its fence is not the newest.
 */
export async function applyChange(
  connection: PoolConnection,
  statements: Statements,
  write: Write,
  isNew: boolean,
): Promise<number> {
  const { key, hash, change, head, description, rows, operation } = write;
  const fence = await newestFence(connection, statements, write);
  // A row that is not there is inserted unlooked for: to look with a lock would lock its neighbors, too.
  const isInserted = isNew && change.keep === 0 && change.fence === fence;
  let id = isInserted ? await insert(connection, statements, write) : undefined;
  if (id !== undefined) {
    await addMessages(connection, statements, write, id);
    return 1;
  }
  const [found] = await execute<LockedRow[]>(connection, statements.lock, [hash]);
  const stored = found && {
    version: Number(found.version),
    messages: Number(found.count),
    operations: operationsOf(found),
  };
  const applied = checkCommit(key, change, stored, fence);
  if (applied !== undefined) return applied;
  if (found === undefined || stored === undefined) {
    id = await insert(connection, statements, write);
    // Without gap locks somebody may have been faster; now there is a row to lock.
    if (id === undefined) return applyChange(connection, statements, write, false);
  } else {
    id = Number(found.id);
    const isCut = change.keep < stored.messages;
    const [kept] = isCut
      ? await execute<LockedRow[]>(connection, statements.bytesOf, [id, change.keep])
      : [found];
    const bytes = Number(kept?.bytes ?? 0) + sizeOf(rows);
    const values = [change.keep + rows.length, bytes, head, description, operation, id];
    await execute(connection, statements.replace, values);
    if (isCut) await execute(connection, statements.cut, [id, change.keep]);
  }
  await addMessages(connection, statements, write, id);
  return (stored?.version ?? 0) + 1;
}

function operationsOf({ operation, earlier }: LockedRow): readonly string[] {
  const prefixes = Array.from({ length: earlier.length / EARLIER_BYTES }, (_, index) =>
    toToken(earlier.subarray(index * EARLIER_BYTES, (index + 1) * EARLIER_BYTES)),
  );
  return [...prefixes, toToken(operation)];
}

/** The fence of the newest lease, where the change has one; nobody can take another before the transaction ends. */
async function newestFence(
  connection: PoolConnection,
  statements: Statements,
  { hash, change: { fence } }: Write,
): Promise<number | undefined> {
  if (fence === undefined) return undefined;
  const [lease] = await execute<RowDataPacket[]>(connection, statements.lockFence, [hash]);
  return lease && Number(lease.fence);
}

/** The new session's id; `undefined` when it exists. */
async function insert(
  connection: PoolConnection,
  statements: Statements,
  { collection, key, hash, head, description, rows, operation }: Write,
): Promise<number | undefined> {
  const parts = SCOPE_COLUMNS.map(([part]) => hashPart(key.parts[part]));
  const written = [rows.length, sizeOf(rows), head, description, operation];
  try {
    const values = [...written, hash, collection, key.toString(), ...parts];
    return (await execute<ResultSetHeader>(connection, statements.insert, values)).insertId;
  } catch (error) {
    if ((error as { errno?: number }).errno === DUPLICATE_ENTRY) return undefined;
    throw error;
  }
}

async function addMessages(
  connection: PoolConnection,
  statements: Statements,
  { change, rows }: Write,
  sessionId: number,
): Promise<void> {
  let seq = change.keep;
  for (const chunk of chunkRows(rows)) {
    const values = chunk.flatMap((row) => [sessionId, seq++, row]);
    await execute(connection, statements.add(chunk.length), values);
  }
}

export function sizeOf(rows: readonly Buffer[]): number {
  return rows.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Cuts rows into inserts of bounded size. The numbers of rows are few, powers of two: a prepared statement stays in the server
 * for each of them.
 */
function* chunkRows(rows: readonly Buffer[]): Iterable<readonly Buffer[]> {
  for (let start = 0; start < rows.length; ) {
    let chunk = rows.slice(start, start + MAX_ROWS);
    chunk = chunk.slice(0, 2 ** Math.floor(Math.log2(chunk.length)));
    while (chunk.length > 1 && sizeOf(chunk) > MAX_BYTES) chunk = chunk.slice(0, chunk.length / 2);
    yield chunk;
    start += chunk.length;
  }
}

/**
 * Refuses what the server would refuse by closing the connection, without a word of the reason in most cases.
 *
 * @throws {SessionStoreError} `session_unavailable` with the remedy.
 */
export async function checkPacketLimit(pool: Pool, { key, head, description, rows }: Write): Promise<void> {
  const largest = rows.reduce((most, { length }) => Math.max(most, length), head.length + description.length);
  if (largest <= MAX_BYTES) return;
  const sql = 'SELECT @@max_allowed_packet AS bytes';
  const [row] = await attempt(key, () => execute<RowDataPacket[]>(pool, sql, []));
  if (largest + OVERHEAD <= Number(row?.bytes)) return;
  throw new SessionStoreError(
    'session_unavailable',
    `Session ${key} has a message or head of ${largest} bytes, more than the server's max_allowed_packet of ${row?.bytes} ` +
      `allows; nothing was written. Set max_allowed_packet to ${2 * largest} bytes or more, or keep large tool results ` +
      'out of the context.',
    { sessionKey: key.toString(), outcome: 'none' },
  );
}
