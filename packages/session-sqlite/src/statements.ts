/** All statements on the tables, except those that create them. `:now`, `:host`, `:pid` and `:started` are those of this process. */
export const STATEMENTS = {
  format: 'SELECT user_version AS format FROM pragma_user_version',
  session:
    'SELECT id, head, version, message_count AS count, token, updated_at AS time FROM sessions WHERE key = :id',
  messages:
    'SELECT seq, message AS text FROM messages WHERE session_id = :row AND seq >= :first ORDER BY seq',
  lock: 'SELECT id, version, message_count AS count, bytes, token, earlier FROM sessions WHERE key = :id',
  insert: `
    INSERT INTO sessions (key, collection, tenant, user, agent, session, version, message_count, bytes, description, token,
      earlier, head, created_at, updated_at)
    VALUES (:id, :collection, :tenant, :user, :agent, :session, 1, :count, :bytes, :description, :operation,
      '', :head, :now, :now)
    ON CONFLICT (key) DO NOTHING RETURNING id`,
  replace: `
    UPDATE sessions SET version = version + 1, message_count = :count, bytes = :bytes, description = :description,
      earlier = substr(earlier || substr(token, 1, 8), -56), token = :operation, head = :head, updated_at = :now
    WHERE id = :row`,
  bytesOf: 'SELECT SUM(OCTET_LENGTH(message)) AS bytes FROM messages WHERE session_id = :row AND seq < :keep',
  cut: 'DELETE FROM messages WHERE session_id = :row AND seq >= :keep',
  add: 'INSERT INTO messages (session_id, seq, message) VALUES (:row, :seq, :message)',
  delete: 'DELETE FROM sessions WHERE key = :id AND (:token IS NULL OR token = :token) RETURNING id',
  deleteLease: 'DELETE FROM leases WHERE key = :id',
  /** The stored key of a record in a collection is `<collection>:<key>`. */
  list: `
    SELECT id, substr(key, instr(key, ':') + 1) AS key, version, message_count AS messages, bytes, description,
      created_at AS createdAt, updated_at AS updatedAt
    FROM sessions`,
  nextCollection: 'SELECT collection FROM sessions WHERE collection > :after ORDER BY collection LIMIT 1',
  /** Replaces the row of the last lease, so that the new one gets a new fence. */
  take: `
    INSERT OR REPLACE INTO leases (key, claim) SELECT :id, :claim WHERE NOT EXISTS
      (SELECT 1 FROM leases WHERE key = :id AND claim <> :claim AND fence IS NOT :over)
    RETURNING fence`,
  /** Does nothing, because a file does not lose its last writes. */
  confirm: 'SELECT 1',
  /** Releases a lease. Returns whether the session itself no longer exists. */
  release: `
    DELETE FROM leases WHERE key = :id AND claim = :claim
    RETURNING NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.key = leases.key) AS isLast`,
  find: 'SELECT fence, claim FROM leases WHERE key = :id',
  lockLease: 'SELECT fence, claim FROM leases WHERE key = :id',
  lockFence: 'SELECT fence FROM leases WHERE key = :id',
  leases: 'SELECT key, claim FROM leases',
  beat: `
    INSERT INTO processes (id, beats, notes, host, pid, started) VALUES (:process, 1, '', :host, :pid, :started)
    ON CONFLICT (id) DO UPDATE SET beats = beats + 1, notes =
      CASE WHEN substr(notes, 1, length(:acknowledged)) = :acknowledged THEN substr(notes, length(:acknowledged) + 1) ELSE notes END
    RETURNING notes`,
  look: 'SELECT beats FROM processes WHERE id = :process',
  send: 'UPDATE processes SET notes = notes || :note WHERE id = :process',
  retire: 'DELETE FROM processes WHERE id = :process',
  processes: 'SELECT id, host, pid, started FROM processes',
} as const;
