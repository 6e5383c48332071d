// Runs LangGraph's validation suite for checkpointers on the store that `X_STORE` names.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, inject } from 'vitest';
import { type OpenStore, stores } from '../../apps/cli/src/stores.js';
import { InMemorySession } from '../../packages/core/src/index.js';
import { SessionSaver } from '../../packages/langchain/src/index.js';

type Validate = (options: { checkpointerName: string; createCheckpointer(): SessionSaver }) => void;

const suite = join(
  process.env.X_LANGGRAPH ?? '',
  'node_modules/@langchain/langgraph-checkpoint-validation/dist/index.js',
);
const { validate } = (await import(pathToFileURL(suite).href)) as { validate: Validate };

const directory = mkdtempSync(join(tmpdir(), 'x-langgraph-'));
const settings = { createTables: true };
const openers: Readonly<Record<string, () => Promise<OpenStore>>> = {
  memory: async () => ({ store: new InMemorySession(), close: async () => {} }),
  files: () => stores.directory.open(directory),
  sqlite: () => stores.sqlite.open(join(directory, 'sessions.db'), settings),
  redis: () => stores.redis.open(inject('redisUrl'), settings),
  mysql: () => stores.mysql.open(inject('mysqlUrl'), settings),
  postgres: () => stores.postgres.open(inject('postgresUrl'), settings),
};

const name = process.env.X_STORE ?? 'memory';
const opened = await openers[name]?.();
if (opened === undefined)
  throw new Error(`X_STORE must be one of ${Object.keys(openers).join(', ')}, not "${name}".`);
afterAll(async () => {
  await opened.close();
  rmSync(directory, { recursive: true });
});
validate({
  checkpointerName: `SessionSaver over ${name}`,
  // Each checkpointer has its own user, so that it does not see the data of another one.
  createCheckpointer: () => new SessionSaver({ store: opened.store, userId: randomBytes(6).toString('hex') }),
});
