import { createHash } from 'node:crypto';
import { checkKey, encodeSegment, type SessionKey, type SessionScope } from '@x/core';

const iso = (column: string) => `DATE_FORMAT(${column}, '%Y-%m-%dT%H:%i:%s.%fZ')`;

/**
 * Microseconds since 1970 by the server's clock. A lease row that was removed with its session leaves no number behind to
 * go on from, and yet the next fence is larger.
 */
const FIRST_FENCE = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`;
const IN_MILLISECONDS = 'UTC_TIMESTAMP(3) + INTERVAL CAST(? AS SIGNED) * 1000 MICROSECOND';

/** Columns by which sessions are listed. Each holds a hash of its part of the key, or NULL. */
export const SCOPE_COLUMNS: readonly (readonly [part: keyof SessionScope, column: string])[] = [
  ['tenantId', 'tenant_hash'],
  ['userId', 'user_hash'],
  ['agentId', 'agent_hash'],
  ['sessionId', 'session_hash'],
];

/** Bytes by which an operation before the last is known. */
export const EARLIER_BYTES = 6;
/** Assignments are made from left to right: the operation that was the last joins the earlier ones first. */
export const REMEMBER = (operation: string) =>
  `earlier = RIGHT(CONCAT(earlier, LEFT(operation, ${EARLIER_BYTES})), ${7 * EARLIER_BYTES}), operation = ${operation}`;

/**
 * Every statement that runs on the tables, but for their creation. Text is read as bytes, so that no character set of
 * a connection can change it.
 */
export function statementsFor(table: string) {
  // Long because it is a list of statements.
  const sessions = `\`${table}\``;
  const messages = `\`${table}_messages\``;
  const leases = `\`${table}_leases\``;
  return {
    /** Few columns, as all of them are sent for every message. */
    load: `
      SELECT -1, CAST(head AS BINARY), CONCAT_WS(' ', version, message_count, ${iso('updated_at')}, HEX(operation)) FROM ${sessions} WHERE key_hash = ?
      UNION ALL
      SELECT m.seq, CAST(m.message AS BINARY), NULL
      FROM ${sessions} AS s JOIN ${messages} AS m ON m.session_id = s.id
      WHERE s.key_hash = ? AND m.seq >= CAST(s.message_count AS SIGNED) - CAST(? AS SIGNED)`,
    exists: `SELECT 1 FROM ${sessions} WHERE key_hash = ?`,
    lock: `
      SELECT id, version, message_count AS count, bytes, operation, earlier FROM ${sessions} WHERE key_hash = ? FOR UPDATE`,
    insert: `
      INSERT INTO ${sessions} (message_count, bytes, head, description, operation, key_hash, collection, session_key, tenant_hash,
        user_hash, agent_hash, session_hash, version, created_at, updated_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))`,
    replace: `
      UPDATE ${sessions} SET version = version + 1, message_count = ?, bytes = ?, head = ?, description = ?, ${REMEMBER('?')},
        updated_at = UTC_TIMESTAMP(3)
      WHERE id = ?`,
    bytesOf: `SELECT SUM(OCTET_LENGTH(message)) AS bytes FROM ${messages} WHERE session_id = ? AND seq < ?`,
    cut: `DELETE FROM ${messages} WHERE session_id = ? AND seq >= ?`,
    add: (rows: number) =>
      `INSERT INTO ${messages} (session_id, seq, message) VALUES ${Array(rows).fill('(?, ?, ?)').join(', ')}`,
    delete: `
      DELETE s, m FROM ${sessions} AS s LEFT JOIN ${messages} AS m ON m.session_id = s.id
      WHERE s.key_hash = ? AND s.operation = COALESCE(?, s.operation)`,
    list: (conditions: readonly string[], limit: number) => `
      SELECT id, session_key AS \`key\`, version, message_count AS messages, bytes, description,
        ${iso('created_at')} AS createdAt, ${iso('updated_at')} AS updatedAt
      FROM ${sessions} WHERE ${conditions.join(' AND ')} ORDER BY updated_at DESC, id DESC LIMIT ${limit}`,
    nextCollection: `SELECT collection FROM ${sessions} WHERE collection > ? ORDER BY collection LIMIT 1`,
    /** Takes a lease that nobody has, or that this holder has already: then the reply to an earlier attempt was lost. */
    lease: `
      INSERT INTO ${leases} (key_hash, fence, holder, renewals, expires_at)
      VALUES (?, ${FIRST_FENCE}, ?, 0, ${IN_MILLISECONDS})
      ON DUPLICATE KEY UPDATE
        fence = IF(expires_at <= UTC_TIMESTAMP(3), GREATEST(fence + 1, ${FIRST_FENCE}), fence),
        holder = IF(expires_at <= UTC_TIMESTAMP(3), VALUES(holder), holder),
        expires_at = IF(expires_at <= UTC_TIMESTAMP(3), VALUES(expires_at), expires_at)`,
    fenceOf: `SELECT fence FROM ${leases} WHERE key_hash = ? AND holder = ?`,
    isLeased: `SELECT 1 FROM ${leases} WHERE key_hash = ? AND expires_at > UTC_TIMESTAMP(3)`,
    lockFence: `SELECT fence FROM ${leases} WHERE key_hash = ? LOCK IN SHARE MODE`,
    /** The counter makes every renewal a change, also within one millisecond: unchanged rows may count as none. */
    renew: `
      UPDATE ${leases} SET renewals = renewals + 1, expires_at = ${IN_MILLISECONDS}
      WHERE key_hash = ? AND holder = ?`,
    release: `UPDATE ${leases} SET holder = NULL, expires_at = UTC_TIMESTAMP(3) WHERE key_hash = ? AND holder = ?`,
    forgetLease: `DELETE FROM ${leases} WHERE key_hash = ?`,
    forgetLeases: `DELETE FROM ${leases} WHERE expires_at < ? AND expires_at <= UTC_TIMESTAMP(3) LIMIT 1000`,
    /** A session whose turn is running is not old. */
    old: (limit: number) => `
      SELECT id, message_count AS count FROM ${sessions} AS s
      WHERE updated_at < ? AND NOT EXISTS
        (SELECT 1 FROM ${leases} AS l WHERE l.key_hash = s.key_hash AND l.expires_at > UTC_TIMESTAMP(3))
      ORDER BY updated_at LIMIT ${limit}`,
    /** Locks the leases too, and the gaps where there are none: whoever takes one meanwhile waits, and finds no session. */
    lockOld: (sessionCount: number) =>
      `SELECT s.id AS id FROM ${sessions} AS s LEFT JOIN ${leases} AS l ON l.key_hash = s.key_hash
       WHERE s.id IN (${places(sessionCount)}) AND s.updated_at < ?
         AND (l.expires_at IS NULL OR l.expires_at <= UTC_TIMESTAMP(3)) FOR UPDATE`,
    deleteMessages: (sessionCount: number) =>
      `DELETE FROM ${messages} WHERE session_id IN (${places(sessionCount)})`,
    deleteSessions: (sessionCount: number) => `DELETE FROM ${sessions} WHERE id IN (${places(sessionCount)})`,
  };
}

/** What a record of a collection is found by; sessions are in the collection with the empty name. */
export function hashKey(collection: string, key: SessionKey): Buffer {
  const prefix = collection === '' ? '' : `${collection}:`;
  return createHash('sha256')
    .update(`${prefix}${checkKey(key)}`)
    .digest();
}

/** What sessions are listed by; `null` for a part that is absent. Encoded first: UTF-8 has no lone surrogates. */
export function hashPart(part: string | undefined): Buffer | null {
  if (part === undefined) return null;
  return createHash('sha256').update(encodeSegment(part)).digest().subarray(0, 16);
}

/** The token of a row's operation. */
export function toToken(operation: Buffer): string {
  return operation.toString('base64url');
}

/** The inverse of {@link toToken}; for what is no token, bytes that no row has. */
export function fromToken(token: string): Buffer {
  return Buffer.from(token, 'base64url');
}

function places(count: number): string {
  return Array(count).fill('?').join(', ');
}

export type Statements = ReturnType<typeof statementsFor>;
