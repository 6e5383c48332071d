const iso = (column: string) => `DATE_FORMAT(${column}, '%Y-%m-%dT%H:%i:%s.%fZ')`;

/**
 * Microseconds since 1970 by the server's clock. Therefore the next fence is larger than the last one even if the lease's row was
 * deleted with its session.
 */
const FIRST_FENCE = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`;
const BEAT_END = 'UTC_TIMESTAMP(3) + INTERVAL CAST(:ttlMs AS SIGNED) * 1000 MICROSECOND';

/** Number of bytes kept of each remembered operation except the last. */
const EARLIER_BYTES = 6;
/** SQL evaluates assignments from left to right, so the old operation is added to `earlier` before it is replaced. */
const REMEMBER = `earlier = RIGHT(CONCAT(earlier, LEFT(operation, ${EARLIER_BYTES})), ${7 * EARLIER_BYTES}), operation = :operation`;

/** Maximum bytes of messages in the row of a session. Every commit rewrites them, so a larger limit would make commits slower. */
export const TAIL_BYTES = 16 << 10;

/**
 * Returns all statements on the tables, except those that create them. Text is read as bytes, so that a connection's character set
 * cannot change it.
 */
export function statementsFor(table: string) {
  // Long because it is a list of statements.
  const sessions = `\`${table}\``;
  const messages = `\`${table}_messages\``;
  const leases = `\`${table}_leases\``;
  const processes = `\`${table}_processes\``;
  return {
    format: `SELECT format FROM \`${table}_format\``,
    /** Returns few columns, because all of them are sent for every message. CHAR(10) is the line end in every SQL mode. */
    load: `
      SELECT -1, CAST(head AS BINARY),
        CAST(CONCAT_WS(CHAR(10), version, message_count, ${iso('updated_at')}, HEX(operation), tail) AS BINARY)
      FROM ${sessions} WHERE key_hash = ?
      UNION ALL
      SELECT m.seq, CAST(m.message AS BINARY), NULL
      FROM ${sessions} AS s JOIN ${messages} AS m ON m.session_id = s.id
      WHERE s.key_hash = ? AND m.seq >= CAST(s.message_count AS SIGNED) - CAST(? AS SIGNED)`,
    exists: `SELECT 1 FROM ${sessions} WHERE key_hash = :id`,
    /**
     * The common commit, which only appends: changes the row if it has the expected operation and space for the messages. The subquery
     * locks the lease in every isolation, so that no newer one is granted in the meantime. LAST_INSERT_ID returns the version.
     */
    append: `
      UPDATE ${sessions} SET version = LAST_INSERT_ID(version + 1), message_count = :count, bytes = bytes + :bytes, head = :head,
        description = :description, tail = CONCAT(tail, :lines), ${REMEMBER}, updated_at = UTC_TIMESTAMP(3)
      WHERE key_hash = :id AND operation = :expected AND message_count = :keep
        AND OCTET_LENGTH(tail) + :size <= ${TAIL_BYTES}
        AND (:fence IS NULL OR :fence = (SELECT fence FROM ${leases} WHERE key_hash = :id LOCK IN SHARE MODE))`,
    lock: `
      SELECT id, version, message_count AS count, bytes, operation, earlier,
        OCTET_LENGTH(tail) - OCTET_LENGTH(REPLACE(tail, CHAR(10), '')) AS tail
      FROM ${sessions} WHERE key_hash = :id FOR UPDATE`,
    /** JSON_TABLE returns the numbers from 1 to `:tail`. Bytes are split twice as fast as text. */
    settle: `
      INSERT INTO ${messages} (session_id, seq, message)
      SELECT s.id, s.message_count - :tail + line.n - 1,
        SUBSTRING_INDEX(SUBSTRING_INDEX(CAST(s.tail AS BINARY), CHAR(10), line.n), CHAR(10), -1)
      FROM ${sessions} AS s
        JOIN JSON_TABLE(CONCAT('[0', REPEAT(',0', :tail - 1), ']'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS line
      WHERE s.id = :row`,
    insert: `
      INSERT INTO ${sessions} (key_hash, collection, session_key, tenant_hash, user_hash, agent_hash, session_hash, version,
        message_count, bytes, head, description, tail, operation, created_at, updated_at)
      VALUES (:id, :collection, :key, :tenant, :user, :agent, :session, 1,
        :count, :bytes, :head, :description, '', :operation, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))`,
    replace: `
      UPDATE ${sessions} SET version = version + 1, message_count = :count, bytes = :bytes, head = :head,
        description = :description, tail = '', ${REMEMBER}, updated_at = UTC_TIMESTAMP(3)
      WHERE id = :row`,
    bytesOf: `SELECT SUM(OCTET_LENGTH(message)) AS bytes FROM ${messages} WHERE session_id = :row AND seq < :keep`,
    cut: `DELETE FROM ${messages} WHERE session_id = :row AND seq >= :keep`,
    add: (count: number) => {
      const rows = Array.from({ length: count }, (_, index) => `(:row, :seq${index}, :message${index})`);
      return `INSERT INTO ${messages} (session_id, seq, message) VALUES ${rows.join(', ')}`;
    },
    delete: `
      DELETE s, m FROM ${sessions} AS s LEFT JOIN ${messages} AS m ON m.session_id = s.id
      WHERE s.key_hash = :id AND s.operation = COALESCE(:operation, s.operation)`,
    list: `
      SELECT id, session_key AS \`key\`, version, message_count AS messages, bytes, description,
        ${iso('created_at')} AS createdAt, ${iso('updated_at')} AS updatedAt
      FROM ${sessions}`,
    nextCollection: `SELECT collection FROM ${sessions} WHERE collection > :after ORDER BY collection LIMIT 1`,
    /** SQL evaluates assignments from left to right: `fence` changes only if the claim has just got the lease or already had it. */
    take: `
      INSERT INTO ${leases} (key_hash, fence, process, claim, taken_at)
      VALUES (:id, ${FIRST_FENCE}, :process, :claim, UTC_TIMESTAMP(3))
      ON DUPLICATE KEY UPDATE
        claim = IF(claim IS NULL OR fence = :over, VALUES(claim), claim),
        process = IF(claim = VALUES(claim), VALUES(process), process),
        taken_at = IF(claim = VALUES(claim), VALUES(taken_at), taken_at),
        fence = IF(claim = VALUES(claim), GREATEST(fence + 1, ${FIRST_FENCE}), fence)`,
    fenceOf: `SELECT fence FROM ${leases} WHERE key_hash = :id AND claim = :claim`,
    confirm: `
      INSERT INTO ${leases} (key_hash, fence, process, claim, taken_at)
      VALUES (:id, :fence, :process, :claim, UTC_TIMESTAMP(3))
      ON DUPLICATE KEY UPDATE
        claim = IF(fence < VALUES(fence), VALUES(claim), claim),
        process = IF(fence < VALUES(fence), VALUES(process), process),
        fence = GREATEST(fence, VALUES(fence))`,
    release: `UPDATE ${leases} SET process = NULL, claim = NULL WHERE key_hash = :id AND claim = :claim`,
    find: `SELECT fence, claim FROM ${leases} WHERE key_hash = :id AND claim IS NOT NULL`,
    lockLease: `SELECT fence, claim FROM ${leases} WHERE key_hash = :id FOR UPDATE`,
    lockFence: `SELECT fence FROM ${leases} WHERE key_hash = :id LOCK IN SHARE MODE`,
    /** Discards the notes of a process whose record had expired, because their senders treat it as dead. */
    beat: `
      INSERT INTO ${processes} (id, beats, notes, expires_at) VALUES (:process, 1, '', ${BEAT_END})
      ON DUPLICATE KEY UPDATE beats = beats + 1, notes = CASE
        WHEN expires_at <= UTC_TIMESTAMP(3) THEN ''
        WHEN LEFT(notes, CHAR_LENGTH(:acknowledged)) = :acknowledged THEN SUBSTRING(notes, CHAR_LENGTH(:acknowledged) + 1)
        ELSE notes END,
        expires_at = VALUES(expires_at)`,
    notesOf: `SELECT CAST(notes AS BINARY) AS notes FROM ${processes} WHERE id = :process`,
    look: `SELECT beats FROM ${processes} WHERE id = :process AND expires_at > UTC_TIMESTAMP(3)`,
    send: `UPDATE ${processes} SET notes = CONCAT(notes, :note) WHERE id = :process AND expires_at > UTC_TIMESTAMP(3)`,
    retire: `DELETE FROM ${processes} WHERE id = :process OR expires_at < UTC_TIMESTAMP(3) - INTERVAL 1 HOUR`,
    forgetLease: `DELETE FROM ${leases} WHERE key_hash = :id`,
  };
}

/** Returns the token of a row's operation. */
export function toToken(operation: Buffer): string {
  return operation.toString('base64url');
}

/** Returns the operation of a token; for an invalid token, bytes that no row has. */
export function fromToken(token: string): Buffer {
  const operation = Buffer.from(token, 'base64url');
  return toToken(operation) === token ? operation : Buffer.alloc(0);
}
