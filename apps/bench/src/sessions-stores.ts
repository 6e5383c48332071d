import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionStore, Workspace } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { MysqlSession } from '@x/session-mysql';
import { PostgresSession } from '@x/session-postgres';
import { RedisSession, RedisWorkspace } from '@x/session-redis';
import { SqliteSession } from '@x/session-sqlite';
import { Redis } from 'ioredis';
import { createPool, type RowDataPacket } from 'mysql2/promise';
import pg from 'pg';
import { durableMariadb } from '../../../tooling/services/mariadb.js';
import { durablePostgres } from '../../../tooling/services/postgres.js';
import { durableRedis } from '../../../tooling/services/redis.js';
import { ownServers, resolve } from '../../../tooling/services/resolve.js';
import type { Running } from '../../../tooling/services/service.js';
import { someHead, someTurn } from './sessions-conversation.js';

/** A store under measurement. */
export interface MeasuredStore {
  readonly store: SessionStore;
  /** The workspace on the same server, if there is one. */
  readonly workspace?: Workspace;
  /**
   * Returns the bytes written for it so far: appended to Redis' file, sent to MySQL, logged by PostgreSQL, or written to files by this
   * process.
   */
  written(): Promise<number>;
  /** Returns the bytes that it occupies: on disk, or in memory for Redis. */
  held(): Promise<number>;
  /** Ways to write the bytes of a turn without a session, by name. Each is as durable as a commit, and takes one round trip. */
  readonly raw?: Readonly<Record<string, () => Promise<unknown>>>;
  close(): Promise<void>;
}

/** A kind of store: starts its own server or folder, and opens it like a process. */
export interface StoreKind {
  serve(): Promise<Running>;
  open(address: string): Promise<MeasuredStore>;
  /** Number of sessions above which a listing takes too long to measure. */
  readonly mostSessions?: number;
}

/** Opens a new store, passes it to `use`, and closes it afterwards. */
export async function withStore<T>(
  kind: StoreKind,
  use: (measured: MeasuredStore) => Promise<T>,
): Promise<T> {
  const server = await kind.serve();
  try {
    const measured = await kind.open(server.address);
    return await use(measured).finally(() => measured.close());
  } finally {
    await server.stop();
  }
}

/** The stores that processes can share. Redis syncs its file every second, as by default; the others sync at every commit. */
export const storeKinds: Readonly<Record<string, StoreKind>> = {
  RedisSession: { serve: () => resolve(durableRedis, ownServers), open: openRedis },
  MysqlSession: { serve: () => resolve(durableMariadb, ownServers), open: openMysql },
  PostgresSession: { serve: () => resolve(durablePostgres, ownServers), open: openPostgres },
  SqliteSession: {
    serve: folder,
    open: async (directory) =>
      inFolder(new SqliteSession({ file: join(directory, 'sessions.db') }), directory),
  },
  WorkspaceSession: {
    serve: folder,
    open: async (directory) => inFolder(new WorkspaceSession(new LocalWorkspace(directory)), directory),
    mostSessions: 20_000,
  },
};

/** Returns the messages of a turn and a changed head, as JSON. */
function payload(): { readonly rows: readonly string[]; readonly head: string; readonly turn: number } {
  const turn = turns++;
  const rows = someTurn().map((message) => JSON.stringify(message));
  return { rows, head: JSON.stringify({ ...someHead, turn }), turn };
}
let turns = 0;

async function openRedis(address: string): Promise<MeasuredStore> {
  const client = new Redis(address);
  // Disables the rewrite, which would shrink the file during the measurement.
  await client.config('SET', 'appendfsync', 'everysec', 'auto-aof-rewrite-percentage', '0');
  const told = async (section: string, name: string) =>
    Number(new RegExp(`${name}:(\\d+)`).exec(await client.info(section))?.[1]);
  return {
    store: new RedisSession({ client }),
    workspace: new RedisWorkspace({ client }),
    written: () => told('persistence', 'aof_current_size'),
    held: () => told('memory', 'used_memory'),
    raw: {
      'RPUSH of the payload': async () => {
        const { rows, head } = payload();
        await client.rpush('raw', head, ...rows);
      },
      'MULTI, RPUSH, HSET, two ZADD, EXEC': async () => {
        const { rows, head, turn } = payload();
        const commands = client
          .multi()
          .rpush('raw:messages', ...rows)
          .hset('raw:session', 'head', head);
        await commands.zadd('raw:recent', turn, 'raw').zadd('raw:recent:alice', turn, 'raw').exec();
      },
    },
    close: async () => client.disconnect(),
  };
}

/** Connections of a pool: for the writers, plus one for the measured operation. */
const CONNECTIONS = 5;

async function openMysql(address: string): Promise<MeasuredStore> {
  const pool = createPool({ uri: address, connectionLimit: CONNECTIONS, multipleStatements: true });
  const store = new MysqlSession({ pool });
  await store.createTables();
  await pool.query(`
    CREATE TABLE IF NOT EXISTS raw_heads (id INT PRIMARY KEY, head LONGTEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS raw_rows (id INT, seq INT, message LONGTEXT NOT NULL, PRIMARY KEY (id, seq));
    REPLACE INTO raw_heads VALUES (1, '')`);
  const number = async (sql: string, column: string) =>
    Number((await pool.query<RowDataPacket[]>(sql))[0][0]?.[column]);
  return {
    store,
    written: () => number(`SHOW GLOBAL STATUS LIKE 'Bytes_received'`, 'Value'),
    held: () =>
      number('SELECT SUM(FILE_SIZE) AS size FROM information_schema.INNODB_SYS_TABLESPACES', 'size'),
    raw: {
      'BEGIN, INSERT, UPDATE, COMMIT in one packet': () => {
        const { rows, head, turn } = payload();
        const values = rows.map((row, index) => [1, 2 * turn + index, row]);
        const sql =
          'BEGIN; INSERT INTO raw_rows VALUES ?; UPDATE raw_heads SET head = ? WHERE id = 1; COMMIT';
        return pool.query(sql, [values, head]);
      },
    },
    close: () => pool.end(),
  };
}

async function openPostgres(connectionString: string): Promise<MeasuredStore> {
  const pool = new pg.Pool({ connectionString, max: CONNECTIONS });
  const store = new PostgresSession({ pool });
  await store.createTables();
  await pool.query(`
    CREATE TABLE IF NOT EXISTS raw_heads (id INT PRIMARY KEY, head TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS raw_rows (id INT, seq INT, message TEXT NOT NULL, PRIMARY KEY (id, seq));
    INSERT INTO raw_heads VALUES (1, '') ON CONFLICT DO NOTHING`);
  const number = async (sql: string) => Number((await pool.query(`SELECT ${sql} AS number`)).rows[0].number);
  return {
    store,
    written: () => number(`pg_current_wal_insert_lsn() - '0/0'`),
    held: () => number('pg_database_size(current_database())'),
    raw: {
      'INSERT and UPDATE in one statement': () => {
        const { rows, head, turn } = payload();
        const sql = `WITH changed AS (UPDATE raw_heads SET head = $1 WHERE id = 1)
          INSERT INTO raw_rows SELECT 1, $2::int + place, message FROM unnest($3::text[]) WITH ORDINALITY AS t (message, place)`;
        return pool.query(sql, [head, 2 * turn, rows]);
      },
    },
    close: () => pool.end(),
  };
}

async function folder(): Promise<Running> {
  const address = mkdtempSync(join(tmpdir(), 'x-bench-'));
  return {
    address,
    stop: async () => rmSync(address, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }),
  };
}

function inFolder(store: SessionStore, directory: string): MeasuredStore {
  return {
    store,
    // Available only on Linux.
    written: async () => Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]),
    async held() {
      const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
      // SQLite's journal and reserve do not grow with the sessions.
      const names = files.filter((name) => !/-(wal|shm|reserve)$/.test(name));
      // Counts blocks of 512 bytes, because a small file occupies more than its size.
      return names.reduce((sum, name) => sum + 512 * statSync(join(directory, name)).blocks, 0);
    },
    close: () => store.close(),
  };
}
