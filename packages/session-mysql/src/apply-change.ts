import { checkChange, leaseLost, type SessionChange, type SessionKey } from '@x/core';
import type { PoolConnection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { chunkRows } from './chunk-rows.js';
import { execute } from './execute.js';
import { hashKey, hashPart } from './hash-key.js';
import { SCOPE_COLUMNS, type Statements } from './statements.js';

const DUPLICATE_ENTRY = 1062;

/** A change as it is written. */
export interface Write {
  readonly key: SessionKey;
  readonly change: SessionChange;
  readonly head: Buffer;
  readonly rows: readonly Buffer[];
  /**
   * Names this commit. When a connection breaks while a transaction commits, nobody knows whether it did: the next
   * attempt finds the name in the session's row, or does it all again.
   */
  readonly operation: Buffer;
}

interface LockedRow extends RowDataPacket {
  readonly id: number | string;
  readonly version: number | string;
  readonly count: number | string;
  readonly operation: Buffer;
}

interface FenceRow extends RowDataPacket {
  readonly fence: number | string;
}

/**
 * Writes a change in a transaction and answers the new version.
 *
 * @param isNew whether there was no such session a moment ago.
 * @throws {SessionConflictError} when another version is current.
 * @throws {InvalidInputError} when `keep` does not fit what is stored.
 * @throws {SessionLeaseError} `lease_lost` when its fence is not the newest.
 */
export async function applyChange(
  connection: PoolConnection,
  statements: Statements,
  write: Write,
  isNew: boolean,
): Promise<number> {
  const { expectedVersion, keep } = write.change;
  const appended = await append(connection, statements, write);
  if (appended !== undefined) {
    await addMessages(connection, statements, write, appended);
    return Number(expectedVersion) + 1;
  }
  const isLeaseLost = await hasNewerFence(connection, statements, write);
  if (isNew && keep === 0 && !isLeaseLost) {
    const created = await insert(connection, statements, write);
    if (created !== undefined) {
      await addMessages(connection, statements, write, created);
      return 1;
    }
  }
  return rewrite(connection, statements, write, isLeaseLost);
}

/** Whether the lease is no longer the newest; when it is, nobody can take it before the transaction ends. */
async function hasNewerFence(
  connection: PoolConnection,
  statements: Statements,
  { key, change: { fence } }: Write,
): Promise<boolean> {
  if (fence === undefined) return false;
  const [lease] = await execute<FenceRow[]>(connection, statements.lockFence, [hashKey(key)]);
  return Number(lease?.fence) !== fence;
}

/** The common case in one statement: the version is the expected one and all messages are kept. */
async function append(
  connection: PoolConnection,
  statements: Statements,
  { key, change, head, rows, operation }: Write,
): Promise<number | undefined> {
  const { expectedVersion, keep, fence } = change;
  if (expectedVersion === 'any' || expectedVersion === 0 || !(Number.isInteger(keep) && keep >= 0))
    return undefined;
  const hash = hashKey(key);
  const values = [keep + rows.length, head, operation, hash, expectedVersion, keep];
  const [statement, lease] =
    fence === undefined ? [statements.append, []] : [statements.appendFenced, [fence, hash]];
  const result = await execute<ResultSetHeader>(connection, statement, [...values, ...lease]);
  return result.affectedRows === 1 ? result.insertId : undefined;
}

/** The new session's id; `undefined` when it exists. */
async function insert(
  connection: PoolConnection,
  statements: Statements,
  { key, head, rows, operation }: Write,
): Promise<number | undefined> {
  const parts = SCOPE_COLUMNS.map(([part]) => hashPart(key.parts[part]));
  const values = [rows.length, head, operation, hashKey(key), key.toString(), ...parts];
  try {
    return (await execute<ResultSetHeader>(connection, statements.insert, values)).insertId;
  } catch (error) {
    if ((error as { errno?: number }).errno === DUPLICATE_ENTRY) return undefined;
    throw error;
  }
}

/** Everything else: with the row locked, finds out what is wrong or what has to be cut. */
async function rewrite(
  connection: PoolConnection,
  statements: Statements,
  write: Write,
  isLeaseLost: boolean,
): Promise<number> {
  const { key, change, head, rows, operation } = write;
  const [found] = await execute<LockedRow[]>(connection, statements.lock, [hashKey(key)]);
  if (found?.operation.equals(operation)) return Number(found.version);
  if (isLeaseLost) throw leaseLost(key);
  const version = Number(found?.version ?? 0);
  const count = Number(found?.count ?? 0);
  checkChange(key, change, { version, messages: count });

  const id = found === undefined ? await insert(connection, statements, write) : Number(found.id);
  // Without gap locks somebody may have been faster; now there is a row to lock.
  if (id === undefined) return rewrite(connection, statements, write, isLeaseLost);
  if (found !== undefined) {
    await execute(connection, statements.replace, [change.keep + rows.length, head, operation, id]);
    if (change.keep < count) await execute(connection, statements.cut, [id, change.keep]);
  }
  await addMessages(connection, statements, write, id);
  return version + 1;
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
