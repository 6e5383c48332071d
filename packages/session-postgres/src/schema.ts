/**
 * Sessions are found by the hash of their key, because an index entry has at most 2 704 bytes. Heads and messages are JSON as text,
 * because a JSON column would change them. The columns that every commit changes come last, because PostgreSQL logs a row from its
 * first change. A commit also writes an entry to each index, so there are only indexes that queries use.
 */
export const schemaOf = (table: string, format: number) => `
    CREATE TABLE ${table} (
      id BIGINT GENERATED ALWAYS AS IDENTITY,
      key_hash BYTEA PRIMARY KEY,
      collection TEXT NOT NULL,
      session_key TEXT NOT NULL,
      tenant_hash BYTEA,
      user_hash BYTEA,
      agent_hash BYTEA,
      session_hash BYTEA NOT NULL,
      created_at TIMESTAMPTZ(3) NOT NULL,
      description TEXT NOT NULL,
      head TEXT NOT NULL,
      version BIGINT NOT NULL,
      message_count INTEGER NOT NULL,
      bytes BIGINT NOT NULL,
      token TEXT NOT NULL,
      earlier TEXT NOT NULL,
      updated_at TIMESTAMPTZ(3) NOT NULL
    );
    CREATE INDEX ON ${table} (updated_at, id);
    CREATE INDEX ON ${table} (user_hash, collection, updated_at, id);
    CREATE INDEX ON ${table} (tenant_hash, collection, updated_at, id) WHERE tenant_hash IS NOT NULL;
    CREATE INDEX ON ${table} (collection, session_hash);
    CREATE TABLE ${table}_messages (
      session_id BIGINT NOT NULL,
      seq INTEGER NOT NULL,
      message TEXT NOT NULL,
      PRIMARY KEY (session_id, seq)
    );
    CREATE TABLE ${table}_leases (
      key_hash BYTEA PRIMARY KEY,
      fence BIGINT NOT NULL,
      process TEXT,
      claim TEXT
    );
    CREATE TABLE ${table}_processes (
      id TEXT PRIMARY KEY,
      beats BIGINT NOT NULL,
      notes TEXT NOT NULL,
      expires_at TIMESTAMPTZ NOT NULL
    );
    INSERT INTO ${table}_format VALUES (${format});`;
