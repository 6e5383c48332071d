import type { SessionScope } from '@x/core';

const UPDATED_AT = `DATE_FORMAT(updated_at, '%Y-%m-%dT%H:%i:%s.%f') AS updatedAt`;

/** Columns by which sessions are listed. Each holds a hash of its part of the key, or NULL. */
export const SCOPE_COLUMNS: readonly (readonly [part: keyof SessionScope, column: string])[] = [
  ['tenantId', 'tenant_hash'],
  ['userId', 'user_hash'],
  ['agentId', 'agent_hash'],
  ['sessionId', 'session_hash'],
];

/**
 * Every statement that runs on the tables, but for their migration. Text is read as bytes, so that no character set of
 * a connection can change it.
 */
export function statementsFor(table: string) {
  const sessions = `\`${table}\``;
  const messages = `\`${table}_messages\``;
  return {
    load: `
      SELECT -1 AS seq, version, message_count AS count, ${UPDATED_AT}, CAST(head AS BINARY) AS body
      FROM ${sessions} WHERE key_hash = ?
      UNION ALL
      SELECT m.seq, NULL, NULL, NULL, CAST(m.message AS BINARY)
      FROM ${sessions} AS s JOIN ${messages} AS m ON m.session_id = s.id WHERE s.key_hash = ?`,
    exists: `SELECT 1 FROM ${sessions} WHERE key_hash = ?`,
    lock: `
      SELECT id, version, message_count AS count, operation FROM ${sessions} WHERE key_hash = ? FOR UPDATE`,
    insert: `
      INSERT INTO ${sessions} (message_count, head, operation, key_hash, session_key, tenant_hash, user_hash,
        agent_hash, session_hash, version, updated_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, UTC_TIMESTAMP(3))`,
    /** LAST_INSERT_ID(id) makes the row's id the insert id of the reply: no second statement to ask for it. */
    append: `
      UPDATE ${sessions} SET id = LAST_INSERT_ID(id), version = version + 1, message_count = ?, head = ?,
        operation = ?, updated_at = UTC_TIMESTAMP(3)
      WHERE key_hash = ? AND version = ? AND message_count = ?`,
    replace: `
      UPDATE ${sessions} SET version = version + 1, message_count = ?, head = ?, operation = ?,
        updated_at = UTC_TIMESTAMP(3)
      WHERE id = ?`,
    cut: `DELETE FROM ${messages} WHERE session_id = ? AND seq >= ?`,
    add: (rows: number) =>
      `INSERT INTO ${messages} (session_id, seq, message) VALUES ${Array(rows).fill('(?, ?, ?)').join(', ')}`,
    delete: `
      DELETE s, m FROM ${sessions} AS s LEFT JOIN ${messages} AS m ON m.session_id = s.id WHERE s.key_hash = ?`,
    list: (conditions: readonly string[], limit: number) => `
      SELECT id, session_key AS sessionKey, version, ${UPDATED_AT} FROM ${sessions}
      WHERE ${conditions.join(' AND ') || 'TRUE'} ORDER BY id DESC LIMIT ${limit}`,
  };
}

export type Statements = ReturnType<typeof statementsFor>;
