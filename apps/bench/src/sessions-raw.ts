import { operationId, SessionKey, type SessionStore } from '@x/core';
import { MysqlSession } from '@x/session-mysql';
import { RedisSession } from '@x/session-redis';
import type { Redis } from 'ioredis';
import type { Pool } from 'mysql2/promise';
import { someHead, someTurn } from './sessions-conversation.js';
import { median } from './statistics.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 'raw' });
const WARM_UP = 200;
const ROUNDS = 1_000;

export interface Comparison {
  readonly commit: string;
  readonly beside: string;
  /** Milliseconds, medians. */
  readonly ours: number;
  readonly raw: number;
}

/** Adds a turn with every call. */
function committing(store: SessionStore): () => Promise<void> {
  let expected: string | undefined;
  let keep = 0;
  return async () => {
    const operation = operationId();
    await store.commit(key, { operation, expected, head: someHead, keep, append: someTurn() });
    expected = operation;
    keep += 2;
  };
}

/** A commit beside one command that sends Redis the same bytes. */
export async function besideRedis(client: Redis): Promise<Comparison> {
  const store = new RedisSession({ client, keyPrefix: 'raw:' });
  const commit = committing(store);
  const raw = async () => {
    await client.rpush(
      'raw',
      JSON.stringify(someHead),
      ...someTurn().map((message) => JSON.stringify(message)),
    );
  };
  return { commit: 'RedisSession', beside: 'RPUSH of the same payload', ...(await byTurns(commit, raw)) };
}

/** A commit beside a transaction that inserts the same rows. */
export async function besideMysql(pool: Pool, durability: string): Promise<Comparison> {
  const table = `raw_${durability.replaceAll(/\W/g, '')}`;
  const store = new MysqlSession({ pool, table });
  await store.migrate();
  await pool.query(`CREATE TABLE ${table}_rows LIKE ${table}_messages`);
  const commit = committing(store);
  let seq = 0;
  const raw = async () => {
    const rows = someTurn().flatMap((message) => [1, seq++, JSON.stringify(message)]);
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.execute(`INSERT INTO ${table}_rows VALUES (?, ?, ?), (?, ?, ?)`, rows);
    await connection.commit();
    connection.release();
  };
  const times = await byTurns(commit, raw);
  return {
    commit: `MysqlSession (${durability})`,
    beside: 'BEGIN, INSERT of the two rows, COMMIT',
    ...times,
  };
}

async function byTurns(commit: () => Promise<void>, raw: () => Promise<void>) {
  const times: { readonly ours: number[]; readonly raw: number[] } = { ours: [], raw: [] };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const [ours, other] = [await timed(commit), await timed(raw)];
    if (round < WARM_UP) continue;
    times.ours.push(ours);
    times.raw.push(other);
  }
  return { ours: median(times.ours), raw: median(times.raw) };
}

/** Milliseconds that a task takes. */
export async function timed(task: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await task();
  return performance.now() - started;
}
