import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import pg from 'pg';
import { durableMariadb } from '../../../tooling/services/mariadb.js';
import { durablePostgres } from '../../../tooling/services/postgres.js';
import { durableRedis } from '../../../tooling/services/redis.js';
import { resolve } from '../../../tooling/services/resolve.js';
import { ownServers } from '../../../tooling/services/strategies.js';
import { type Contender, neededBytes } from './sessions-conversation.js';
import {
  mysqlSession,
  postgresSession,
  redisSession,
  redisSessionLoaded,
  sqliteSession,
  workspaceSession,
} from './sessions-ours.js';
import { langGraphMemory, langGraphSqlite, naiveReplace, naiveSet } from './sessions-peers.js';
import { besideMysql, besideRedis, type Comparison, timed } from './sessions-raw.js';
import { median } from './statistics.js';

const LENGTHS = [50, 100, 5_000] as const;
const WARM_UP = 20;

interface TurnCost {
  /** Milliseconds, median. */
  readonly milliseconds: number;
  /** Bytes written, in units of what the turn and the head have. */
  readonly amplification: number;
}

/**
 * What it costs to keep a conversation, turn by turn, beside peers and raw commands. On servers of its own: a Redis that
 * appends to its file and syncs it every second, and a MariaDB and a PostgreSQL that sync at every commit.
 */
export async function benchSessions(): Promise<void> {
  const redisServer = await resolve(durableRedis, ownServers);
  const databaseServer = await resolve(durableMariadb, ownServers);
  const postgresServer = await resolve(durablePostgres, ownServers);
  const client = new Redis(redisServer.address);
  const postgres = new pg.Pool({ connectionString: postgresServer.address });
  const pool = createPool(databaseServer.address);
  try {
    await client.config('SET', 'appendfsync', 'everysec');
    // Rewritten, the file would shrink under the measurement.
    await client.config('SET', 'auto-aof-rewrite-percentage', '0');
    reportComparisons(await compare(client, pool));
    const files = workspaceSession();
    const ours = sqliteSession();
    const sqlite = langGraphSqlite();
    try {
      await reportTurns([
        redisSession(client),
        await mysqlSession(pool),
        await postgresSession(postgres),
        ours,
        files,
        redisSessionLoaded(client),
        naiveSet(client),
        await naiveReplace(pool),
        langGraphMemory(),
        sqlite,
      ]);
    } finally {
      files.close();
      await ours.close();
      sqlite.close();
    }
  } finally {
    client.disconnect();
    await pool.end();
    await postgres.end();
    await redisServer.stop();
    await postgresServer.stop();
    await databaseServer.stop();
  }
}

async function compare(
  client: Parameters<typeof besideRedis>[0],
  pool: Parameters<typeof besideMysql>[0],
): Promise<Comparison[]> {
  const results = [await besideRedis(client)];
  for (const flush of [1, 0]) {
    await pool.query(`SET GLOBAL innodb_flush_log_at_trx_commit = ${flush}`);
    results.push(await besideMysql(pool, flush === 1 ? 'fsync at every commit' : 'no fsync'));
  }
  await pool.query('SET GLOBAL innodb_flush_log_at_trx_commit = 1');
  return results;
}

function reportComparisons(results: readonly Comparison[]): void {
  console.log('A commit of one turn beside the same payload without a session, by turns (medians)');
  console.table(
    results.map(({ commit, beside, ours, raw }) => ({
      commit,
      beside,
      'ms ours': round(ours, 3),
      'ms raw': round(raw, 3),
      ratio: round(ours / raw, 2),
    })),
  );
}

async function reportTurns(contenders: readonly Contender[]): Promise<void> {
  console.log(
    `A turn of ${neededBytes} bytes with the head, when the conversation has so many messages ` +
      '(medians; bytes: written / those of turn and head)',
  );
  const rows: Record<string, object> = {};
  for (const contender of contenders) {
    const [short, hundred, long] = await measure(contender);
    rows[contender.name] = {
      'ms at 50': round(short.milliseconds, 2),
      'ms at 5,000': round(long.milliseconds, 2),
      growth: round(long.milliseconds / short.milliseconds, 2),
      'bytes at 100': round(hundred.amplification, 2),
      'bytes at 5,000': round(long.amplification, 2),
    };
  }
  console.table(rows);
}

/** At each length; the lengths take turns, so that a busy minute strikes all of them. */
async function measure({ open, samples }: Contender): Promise<[TurnCost, TurnCost, TurnCost]> {
  const cost = async (messages: number): Promise<() => Promise<TurnCost>> => {
    const conversation = await open(messages);
    return async () => {
      const before = await conversation.written();
      const milliseconds = await timed(conversation.turn);
      const bytes = (await conversation.written()) - before;
      return { milliseconds, amplification: bytes / neededBytes };
    };
  };
  const takers = [await cost(LENGTHS[0]), await cost(LENGTHS[1]), await cost(LENGTHS[2])] as const;
  const costs: [TurnCost[], TurnCost[], TurnCost[]] = [[], [], []];
  const warmUp = Math.min(WARM_UP, samples - 1);
  for (let round = 0; round < samples + warmUp; round++) {
    for (const [index, take] of takers.entries()) {
      const taken = await take();
      if (round >= warmUp) costs[index]?.push(taken);
    }
  }
  return costs.map((taken) => ({
    milliseconds: median(taken.map(({ milliseconds }) => milliseconds)),
    amplification: median(taken.map(({ amplification }) => amplification)),
  })) as [TurnCost, TurnCost, TurnCost];
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
