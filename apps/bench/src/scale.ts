import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operationId, SessionKey, type SessionStore } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { MysqlSession } from '@x/session-mysql';
import { PostgresSession } from '@x/session-postgres';
import { RedisSession } from '@x/session-redis';
import { SqliteSession } from '@x/session-sqlite';
import { Redis } from 'ioredis';
import { createPool, type RowDataPacket } from 'mysql2/promise';
import pg from 'pg';
import { durableMariadb } from '../../../tooling/services/mariadb.js';
import { durablePostgres } from '../../../tooling/services/postgres.js';
import { durableRedis } from '../../../tooling/services/redis.js';
import { resolve } from '../../../tooling/services/resolve.js';
import { ownServers } from '../../../tooling/services/strategies.js';
import { someHead, someMessages, someTurn } from './sessions-conversation.js';
import { median } from './statistics.js';

/** Messages of a session, one entry a decile: most are short, and the longest hold most of what is stored. */
const LENGTHS = [2, 2, 4, 4, 6, 8, 12, 20, 40, 120] as const;
const SESSIONS_A_USER = 20;
/** Sessions that are filled in side by side, and writers beside what is measured. */
const WRITERS = 4;
const SAMPLES = 100;
const PAGE = 50;
const TARGET = 10_000_000;

interface Filled {
  readonly store: SessionStore;
  /** What it takes on disk or in memory. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** Fills every store, and measures bytes, first pages, commits and takeovers while others write. */
export async function benchScale({
  sessions = '10000',
}: {
  readonly sessions?: string | undefined;
}): Promise<void> {
  const count = Number(sessions);
  if (!Number.isInteger(count) || count < 100)
    throw new RangeError('--sessions must be a whole number from 100 on.');
  console.log(
    `${count} sessions, ${SESSIONS_A_USER} a user, of ${LENGTHS.join(', ')} messages of 1.5 KB (ms; median, 95 %)`,
  );
  const rows: Record<string, object> = {};
  for (const [name, open] of Object.entries(stores)) {
    const filled = await open();
    try {
      rows[name] = await measure(filled, count);
      console.log(name, JSON.stringify(rows[name]));
    } finally {
      await filled.close();
    }
  }
  console.table(rows);
}

async function measure({ store, bytes }: Filled, count: number): Promise<object> {
  const before = await bytes();
  const startedAt = performance.now();
  let filled = 0;
  await beside(async () => {
    while (filled < count) await fill(store, filled++);
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const each = ((await bytes()) - before) / count;
  const page = (userId?: string) => async () => {
    for await (const _ of store.list(userId === undefined ? {} : { userId }, { limit: PAGE }));
  };
  const first = await timed(page(), 20);
  const ofUser = await timed(page('u-0'), 20);
  let isDone = false;
  const load = beside(async (writer) => {
    for (let turn = writer; !isDone; turn += WRITERS) await addTurn(store, turn % count);
  });
  const commits = await timed((sample) => addTurn(store, (sample * 7919 + 1) % count), SAMPLES);
  const takeovers = await timed((sample) => takeOver(store, (sample * 104_729 + 2) % count), SAMPLES);
  isDone = true;
  await load;
  return {
    'filled a second': Math.round(count / seconds),
    'KB a session': round(each / 1024),
    [`GB at ${TARGET / 1e6} million`]: Math.round((each * TARGET) / 1024 ** 3),
    'first page': first,
    'page of a user': ofUser,
    commit: commits,
    takeover: takeovers,
  };
}

function keyOf(session: number): SessionKey {
  return SessionKey.of({
    userId: `u-${Math.floor(session / SESSIONS_A_USER)}`,
    agentId: 'coder',
    sessionId: `s-${session}`,
  });
}

async function fill(store: SessionStore, session: number): Promise<void> {
  const append = someMessages(LENGTHS[session % LENGTHS.length] ?? 2);
  const change = { operation: operationId(), expected: undefined, head: someHead, keep: 0, append };
  await store.commit(keyOf(session), change);
}

/** Goes on with a session as a process does that has not seen it yet. */
async function addTurn(store: SessionStore, session: number, fence?: number): Promise<void> {
  for (;;) {
    const stored = await store.load(keyOf(session));
    if (stored === undefined) throw new Error(`Session ${session} is not there.`);
    const { token, messages } = stored;
    const change = {
      operation: operationId(),
      expected: token,
      head: someHead,
      keep: messages.length,
      append: someTurn(),
    };
    try {
      await store.commit(keyOf(session), { ...change, fence });
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== 'session_conflict') throw error;
    }
  }
}

/** Takes the turn of a session whose holder is gone, adds to it and gives it up. */
async function takeOver(store: SessionStore, session: number): Promise<void> {
  const lease = await store.lease?.(keyOf(session), { ttlMs: 60_000 });
  if (lease === undefined) throw new Error(`The turn of session ${session} is taken.`);
  await addTurn(store, session, lease.fence);
  await lease.release();
}

async function beside(work: (writer: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => work(writer)));
}

/** Median and 95th percentile, in milliseconds. */
async function timed(work: (sample: number) => Promise<void>, samples: number): Promise<string> {
  const times: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    const startedAt = performance.now();
    await work(sample);
    times.push(performance.now() - startedAt);
  }
  const slow = times.sort((left, right) => left - right)[Math.floor(samples * 0.95)] ?? Number.NaN;
  return `${round(median(times))}, ${round(slow)}`;
}

function round(value: number): number {
  return Number(value.toFixed(1));
}

const stores: Readonly<Record<string, () => Promise<Filled>>> = {
  async SqliteSession() {
    const directory = mkdtempSync(join(tmpdir(), 'x-bench-'));
    const store = new SqliteSession({ file: join(directory, 'sessions.db') });
    return inDirectory(store, directory);
  },
  async PostgresSession() {
    const server = await resolve(durablePostgres, ownServers);
    const pool = new pg.Pool({ connectionString: server.address, max: WRITERS + 1 });
    const store = new PostgresSession({ pool });
    await store.migrate();
    return {
      store,
      bytes: async () =>
        Number((await pool.query('SELECT pg_database_size(current_database()) AS size')).rows[0].size),
      async close() {
        await pool.end();
        await server.stop();
      },
    };
  },
  async MysqlSession() {
    const server = await resolve(durableMariadb, ownServers);
    const pool = createPool({ uri: server.address, connectionLimit: WRITERS + 1 });
    const store = new MysqlSession({ pool });
    await store.migrate();
    return {
      store,
      async bytes() {
        const [rows] = await pool.query<RowDataPacket[]>(
          'SELECT SUM(FILE_SIZE) AS size FROM information_schema.INNODB_SYS_TABLESPACES',
        );
        return Number(rows[0]?.size);
      },
      async close() {
        await pool.end();
        await server.stop();
      },
    };
  },
  async RedisSession() {
    const server = await resolve(durableRedis, ownServers);
    const client = new Redis(server.address);
    return {
      store: new RedisSession({ client }),
      bytes: async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]),
      async close() {
        client.disconnect();
        await server.stop();
      },
    };
  },
  async WorkspaceSession() {
    const directory = mkdtempSync(join(tmpdir(), 'x-bench-'));
    return inDirectory(new WorkspaceSession(new LocalWorkspace(directory)), directory);
  },
};

function inDirectory(store: SessionStore, directory: string): Filled {
  return {
    store,
    async bytes() {
      const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
      // SQLite's journal does not grow with the sessions.
      const names = files.filter((name) => !/-(wal|shm)$/.test(name));
      // Blocks, of 512 bytes each: a small file takes more than it holds.
      return names.reduce((sum, name) => sum + 512 * statSync(join(directory, name)).blocks, 0);
    },
    async close() {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
