/** Holds for a session that has not expired. */
export const LIVES = '(expires_at IS NULL OR expires_at > clock_timestamp())';
/** Microseconds since 1970: where the record of the last fence is gone, the next is larger all the same. */
const FIRST_FENCE = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
const milliseconds = (parameter: string) => `${parameter}::bigint * interval '1 millisecond'`;
/** The end of a session's life, from its lifetime in milliseconds; none for 0. */
const expires = (parameter: string) =>
  `clock_timestamp() + NULLIF(${parameter}::bigint, 0) * interval '1 millisecond'`;
/** The token joins the earlier ones, of which eight characters and the last seven are kept. */
const remember = (operation: string) =>
  `earlier = right(earlier || left(token, 8), 56), token = ${operation}`;

/** Every statement that runs on the tables, but for their creation. Times are the server's. */
export function statementsFor(table: string) {
  // Long because it is a list of statements.
  const messages = `${table}_messages`;
  const leases = `${table}_leases`;
  return {
    /** Reads all as of one moment: the session's own row first, then its messages. */
    load: `
      WITH session AS (SELECT * FROM ${table} WHERE key_hash = $1 AND ${LIVES})
      SELECT -1 AS seq, head AS body, token, version, message_count AS count, updated_at AS time FROM session
      UNION ALL
      SELECT m.seq, m.message, NULL, NULL, NULL, NULL FROM session JOIN ${messages} AS m ON m.session_id = session.id
      WHERE m.seq >= session.message_count - $2::bigint
      ORDER BY seq`,
    /**
     * The common commit, to which only something is added: the row is changed if it is the expected one, and what is added
     * goes with it. The lease is locked, so that no newer one is granted meanwhile.
     */
    append: `
      WITH lease AS (
        SELECT fence FROM ${leases} WHERE key_hash = $1 AND fence = $6::bigint FOR SHARE
      ), changed AS (
        UPDATE ${table} SET version = version + 1, message_count = $3::integer + cardinality($5::text[]),
          bytes = bytes + $9::bigint, description = $10, ${remember('$4::text')}, head = $7, updated_at = clock_timestamp(), expires_at = ${expires('$8')}
        WHERE key_hash = $1 AND token = $2 AND message_count = $3::integer AND ${LIVES}
          AND ($6::bigint IS NULL OR EXISTS (SELECT FROM lease))
        RETURNING id, version
      ), added AS (
        INSERT INTO ${messages} (session_id, seq, message)
        SELECT changed.id, $3::integer + place - 1, message
        FROM changed, unnest($5::text[]) WITH ORDINALITY AS given (message, place)
      )
      SELECT version FROM changed`,
    lockFence: `SELECT fence FROM ${leases} WHERE key_hash = $1 FOR SHARE`,
    lock: `
      SELECT id, version, message_count AS count, bytes, token, earlier, NOT ${LIVES} AS expired
      FROM ${table} WHERE key_hash = $1 FOR UPDATE`,
    insert: `
      INSERT INTO ${table} (key_hash, collection, session_key, tenant_hash, user_hash, agent_hash, session_hash, version,
        message_count, token, earlier, head, bytes, description, created_at, updated_at, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, '', $10, $11, $12, clock_timestamp(), clock_timestamp(),
        ${expires('$13')})
      ON CONFLICT (key_hash) DO NOTHING RETURNING id`,
    replace: `
      UPDATE ${table} SET version = version + 1, message_count = $2, ${remember('$3::text')}, head = $4,
        bytes = $5, description = $6, updated_at = clock_timestamp(), expires_at = ${expires('$7')}
      WHERE key_hash = $1`,
    bytesOf: `SELECT SUM(OCTET_LENGTH(message)) AS bytes FROM ${messages} WHERE session_id = $1 AND seq < $2`,
    cut: `DELETE FROM ${messages} WHERE session_id = $1 AND seq >= $2`,
    add: `
      INSERT INTO ${messages} (session_id, seq, message)
      SELECT $1::bigint, $2::integer + place - 1, message
      FROM unnest($3::text[]) WITH ORDINALITY AS given (message, place)`,
    /** The lease goes too: whoever has it writes no more. The next one's fence is larger all the same. */
    delete: `
      WITH gone AS (DELETE FROM ${table} WHERE key_hash = $1 AND ($2::text IS NULL OR token = $2)
          RETURNING id, ${LIVES} AS lived),
        texts AS (DELETE FROM ${messages} USING gone WHERE session_id = gone.id),
        lease AS (DELETE FROM ${leases} WHERE key_hash = $1 AND ($2::text IS NULL OR EXISTS (SELECT FROM gone)))
      SELECT lived FROM gone`,
    list: (conditions: readonly string[], limit: number) => `
      SELECT id, session_key AS key, version, message_count AS messages, bytes, description,
        created_at AS "createdAt", updated_at AS "updatedAt"
      FROM ${table}
      WHERE ${conditions.join(' AND ')} ORDER BY updated_at DESC, id DESC LIMIT ${limit}`,
    nextCollection: `SELECT collection FROM ${table} WHERE collection > $1 ORDER BY collection LIMIT 1`,
    /** Takes a lease that nobody has, or that this holder has already: then the reply to an earlier attempt was lost. */
    lease: `
      INSERT INTO ${leases} AS l (key_hash, fence, holder, expires_at)
      VALUES ($1, ${FIRST_FENCE}, $2, clock_timestamp() + ${milliseconds('$3')})
      ON CONFLICT (key_hash) DO UPDATE SET
        fence = CASE WHEN l.holder = $2 THEN l.fence ELSE greatest(l.fence + 1, ${FIRST_FENCE}) END,
        holder = $2, expires_at = clock_timestamp() + ${milliseconds('$3')}
      WHERE l.expires_at <= clock_timestamp() OR l.holder = $2
      RETURNING fence`,
    isLeased: `SELECT FROM ${leases} WHERE key_hash = $1 AND expires_at > clock_timestamp()`,
    renew: `
      UPDATE ${leases} SET expires_at = clock_timestamp() + ${milliseconds('$3')} WHERE key_hash = $1 AND holder = $2`,
    release: `UPDATE ${leases} SET holder = NULL, expires_at = clock_timestamp() WHERE key_hash = $1 AND holder = $2`,
    /** Finds what may go: no more than `$2`. */
    old: `
      SELECT key_hash FROM ${table}
      WHERE (updated_at < $1 OR expires_at <= clock_timestamp()) AND NOT EXISTS
        (SELECT FROM ${leases} AS l WHERE l.key_hash = ${table}.key_hash AND l.expires_at > clock_timestamp())
      ORDER BY updated_at LIMIT $2`,
    /** Makes sure that each has a lease's row, and locks it: who takes a lease meanwhile waits, and finds no session. */
    holdLeases: `
      INSERT INTO ${leases} (key_hash, fence, expires_at)
      SELECT key_hash, ${FIRST_FENCE}, clock_timestamp() FROM unnest($1::bytea[]) AS old (key_hash)
      ORDER BY key_hash
      ON CONFLICT (key_hash) DO UPDATE SET holder = EXCLUDED.holder WHERE ${leases}.expires_at <= clock_timestamp()
      RETURNING key_hash`,
    deleteOld: `
      WITH gone AS (DELETE FROM ${table} WHERE key_hash = ANY($1::bytea[])
          AND (updated_at < $2 OR expires_at <= clock_timestamp()) RETURNING id, key_hash),
        texts AS (DELETE FROM ${messages} USING gone WHERE session_id = gone.id)
      SELECT id FROM gone`,
    forgetLeases: `DELETE FROM ${leases} WHERE key_hash = ANY($1::bytea[]) AND expires_at <= clock_timestamp()`,
  };
}

export type Statements = ReturnType<typeof statementsFor>;
