/** Microseconds since 1970. Therefore the next fence is larger than the last one even if the lease's row was deleted. */
const FIRST_FENCE = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
const BEAT_END = "clock_timestamp() + :ttlMs::bigint * interval '1 millisecond'";
/** Adds the first eight characters of the old token to `earlier`, which keeps those of the last seven, and sets the new token. */
const REMEMBER = 'earlier = right(earlier || left(token, 8), 56), token = :operation::text';

/** Returns all statements on the tables, except those that create them. Times are the server's. */
export function statementsFor(table: string) {
  // Long because it is a list of statements.
  const messages = `${table}_messages`;
  const leases = `${table}_leases`;
  const processes = `${table}_processes`;
  return {
    format: `SELECT format FROM ${table}_format`,
    /** Reads a session as one snapshot: its own row first, then its messages. */
    load: `
      WITH session AS (SELECT * FROM ${table} WHERE key_hash = :id)
      SELECT -1 AS seq, head AS body, token, version, message_count AS count, updated_at AS time FROM session
      UNION ALL
      SELECT m.seq, m.message, NULL, NULL, NULL, NULL FROM session JOIN ${messages} AS m ON m.session_id = session.id
      WHERE m.seq >= session.message_count - :last::bigint
      ORDER BY seq`,
    /**
     * The common commit, which only appends: changes the row if it has the expected token, and inserts the messages. Locks the lease, so
     * that no newer one is granted in the meantime.
     */
    append: `
      WITH lease AS (
        SELECT fence FROM ${leases} WHERE key_hash = :id AND fence = :fence::bigint FOR SHARE
      ), changed AS (
        UPDATE ${table} SET version = version + 1, message_count = :keep::integer + cardinality(:messages::text[]),
          bytes = bytes + :bytes::bigint, description = :description, ${REMEMBER}, head = :head,
          updated_at = clock_timestamp()
        WHERE key_hash = :id AND token = :expected AND message_count = :keep::integer
          AND (:fence::bigint IS NULL OR EXISTS (SELECT FROM lease))
        RETURNING id, version
      ), added AS (
        INSERT INTO ${messages} (session_id, seq, message)
        SELECT changed.id, :keep::integer + place - 1, message
        FROM changed, unnest(:messages::text[]) WITH ORDINALITY AS given (message, place)
      )
      SELECT version FROM changed`,
    lockFence: `SELECT fence FROM ${leases} WHERE key_hash = :id FOR SHARE`,
    lock: `
      SELECT id, version, message_count AS count, bytes, token, earlier
      FROM ${table} WHERE key_hash = :id FOR UPDATE`,
    insert: `
      INSERT INTO ${table} (key_hash, collection, session_key, tenant_hash, user_hash, agent_hash, session_hash, version,
        message_count, token, earlier, head, bytes, description, created_at, updated_at)
      VALUES (:id, :collection, :key, :tenant, :user, :agent, :session, 1, :count, :operation, '', :head, :bytes,
        :description, clock_timestamp(), clock_timestamp())
      ON CONFLICT (key_hash) DO NOTHING RETURNING id`,
    replace: `
      UPDATE ${table} SET version = version + 1, message_count = :count, ${REMEMBER}, head = :head,
        bytes = :bytes, description = :description, updated_at = clock_timestamp()
      WHERE id = :row`,
    bytesOf: `SELECT SUM(OCTET_LENGTH(message)) AS bytes FROM ${messages} WHERE session_id = :row AND seq < :keep`,
    cut: `DELETE FROM ${messages} WHERE session_id = :row AND seq >= :keep`,
    add: `
      INSERT INTO ${messages} (session_id, seq, message)
      SELECT :row::bigint, :keep::integer + place - 1, message
      FROM unnest(:messages::text[]) WITH ORDINALITY AS given (message, place)`,
    /** Deletes the lease, too, so that its holder can no longer write. The next fence is larger anyway. */
    delete: `
      WITH gone AS (DELETE FROM ${table} WHERE key_hash = :id AND (:token::text IS NULL OR token = :token)
          RETURNING id),
        texts AS (DELETE FROM ${messages} USING gone WHERE session_id = gone.id),
        lease AS (DELETE FROM ${leases} WHERE key_hash = :id AND (:token::text IS NULL OR EXISTS (SELECT FROM gone)))
      SELECT id FROM gone`,
    list: `
      SELECT id, session_key AS key, version, message_count AS messages, bytes, description,
        created_at AS "createdAt", updated_at AS "updatedAt"
      FROM ${table}`,
    nextCollection: `SELECT collection FROM ${table} WHERE collection > :after ORDER BY collection LIMIT 1`,
    take: `
      INSERT INTO ${leases} AS l (key_hash, fence, process, claim) VALUES (:id, ${FIRST_FENCE}, :process, :claim)
      ON CONFLICT (key_hash) DO UPDATE SET
        fence = greatest(l.fence + 1, ${FIRST_FENCE}), process = :process, claim = :claim
      WHERE l.claim IS NULL OR l.claim = :claim OR l.fence = :over::bigint
      RETURNING fence`,
    confirm: `
      INSERT INTO ${leases} AS l (key_hash, fence, process, claim) VALUES (:id, :fence::bigint, :process, :claim)
      ON CONFLICT (key_hash) DO UPDATE SET fence = :fence::bigint, process = :process, claim = :claim
      WHERE l.fence < :fence::bigint`,
    release: `UPDATE ${leases} SET process = NULL, claim = NULL WHERE key_hash = :id AND claim = :claim`,
    find: `SELECT fence, claim FROM ${leases} WHERE key_hash = :id AND claim IS NOT NULL`,
    /** Inserts a row if there is none, so that there is a row to lock. */
    lockLease: `
      INSERT INTO ${leases} AS l (key_hash, fence) VALUES (:id, ${FIRST_FENCE})
      ON CONFLICT (key_hash) DO UPDATE SET fence = l.fence RETURNING fence, claim`,
    /** Discards the notes of a process whose record had expired, because their senders treat it as dead. */
    beat: `
      INSERT INTO ${processes} AS p (id, beats, notes, expires_at) VALUES (:process, 1, '', ${BEAT_END})
      ON CONFLICT (id) DO UPDATE SET beats = p.beats + 1, expires_at = ${BEAT_END}, notes = CASE
        WHEN p.expires_at <= clock_timestamp() THEN ''
        WHEN starts_with(p.notes, :acknowledged::text) THEN substr(p.notes, length(:acknowledged::text) + 1)
        ELSE p.notes END
      RETURNING notes`,
    look: `SELECT beats FROM ${processes} WHERE id = :process AND expires_at > clock_timestamp()`,
    send: `UPDATE ${processes} SET notes = notes || :note::text WHERE id = :process AND expires_at > clock_timestamp()`,
    retire: `DELETE FROM ${processes} WHERE id = :process OR expires_at < clock_timestamp() - interval '1 hour'`,
  };
}
