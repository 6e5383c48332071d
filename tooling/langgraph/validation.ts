// LangGraph's own validation of checkpointers, over the store that `X_STORE` names.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { afterAll, inject } from 'vitest';
import { InMemorySession, type SessionStore } from '../../packages/core/src/index.js';
import { JsonSession } from '../../packages/core/src/node.js';
import { SessionSaver } from '../../packages/langchain/src/index.js';
import { MysqlSession } from '../../packages/session-mysql/src/index.js';
import { PostgresSession } from '../../packages/session-postgres/src/index.js';
import { RedisSession } from '../../packages/session-redis/src/index.js';
import { SqliteSession } from '../../packages/session-sqlite/src/index.js';

type Validate = (options: { checkpointerName: string; createCheckpointer(): Promise<SessionSaver> }) => void;

const suite = join(
  process.env.X_LANGGRAPH ?? '',
  'node_modules/@langchain/langgraph-checkpoint-validation/dist/index.js',
);
const { validate } = (await import(pathToFileURL(suite).href)) as { validate: Validate };

const directory = mkdtempSync(join(tmpdir(), 'x-langgraph-'));
const ends: (() => unknown)[] = [() => rmSync(directory, { recursive: true })];
afterAll(() => Promise.all(ends.map((end) => end())));
const fresh = () => randomBytes(6).toString('hex');

/** A store of its own for each checkpointer, on one connection. */
const stores: Readonly<Record<string, () => () => SessionStore | Promise<SessionStore>>> = {
  memory: () => () => new InMemorySession(),
  files: () => () => new JsonSession({ directory: join(directory, fresh()) }),
  sqlite: () => () => new SqliteSession({ file: join(directory, `${fresh()}.db`) }),
  redis() {
    const client = new Redis(inject('redisUrl'));
    ends.push(() => client.disconnect());
    return () => new RedisSession({ client, keyPrefix: `${fresh()}:` });
  },
  mysql() {
    const pool = createPool(inject('mysqlUrl'));
    ends.push(() => pool.end());
    const store = new MysqlSession({ pool });
    const ready = store.createTables();
    return () => ready.then(() => store);
  },
  postgres() {
    const pool = new Pool({ connectionString: inject('postgresUrl') });
    ends.push(() => pool.end());
    const store = new PostgresSession({ pool });
    const ready = store.createTables();
    return () => ready.then(() => store);
  },
};

const name = process.env.X_STORE ?? 'memory';
const open = stores[name]?.();
if (open === undefined)
  throw new Error(`There is no store ${name}; there are ${Object.keys(stores).join(', ')}.`);
validate({
  checkpointerName: `SessionSaver over ${name}`,
  createCheckpointer: async () => new SessionSaver({ store: await open(), userId: fresh() }),
});
