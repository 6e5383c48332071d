import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolResultEviction } from '@x/compaction';
import { mountWorkspace, type SessionStore, storageOf, type Workspace } from '@x/core';
import { JsonSession, LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { HarnessAgent, planMode, subagents, todoList, workspaceTools } from '@x/harness';
import { memory, sessionHistory } from '@x/memory';
import { MysqlSession } from '@x/session-mysql';
import { PostgresSession } from '@x/session-postgres';
import { RedisSession, RedisWorkspace } from '@x/session-redis';
import { SqliteSession } from '@x/session-sqlite';
import { isolationSuite } from '@x/testkit/suites';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import pg from 'pg';
import { afterAll, inject } from 'vitest';

const directory = mkdtempSync(join(tmpdir(), 'x-isolation-'));
const closers: (() => unknown)[] = [() => rmSync(directory, { recursive: true })];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});
const place = () => join(directory, randomUUID());

function redis() {
  const client = new Redis(inject('redisUrl'));
  closers.push(() => client.quit());
  return { client, keyPrefix: `attacks:${randomUUID()}:` };
}

const workspaces: Readonly<Record<string, () => Workspace>> = {
  files: () => new LocalWorkspace(place()),
  mounts: () => mountWorkspace(new LocalWorkspace(place()), { repo: new LocalWorkspace(place()) }),
  Redis: () => new RedisWorkspace(redis()),
};

const stores: Readonly<Record<string, (workspace: Workspace) => Promise<SessionStore>>> = {
  workspace: async (workspace) => new WorkspaceSession(storageOf(workspace)),
  json: async () => new JsonSession({ directory: place() }),
  sqlite: async () => new SqliteSession({ file: `${place()}.db` }),
  redis: async () => new RedisSession(redis()),
  async mysql() {
    const pool = createPool(inject('mysqlUrl'));
    closers.push(() => pool.end());
    const store = new MysqlSession({ pool, table: 'isolation_attacks' });
    await store.migrate();
    return store;
  },
  async postgres() {
    const pool = new pg.Pool({ connectionString: inject('postgresUrl') });
    closers.push(() => pool.end());
    const store = new PostgresSession({ pool, table: 'isolation_attacks' });
    await store.migrate();
    return store;
  },
};

/** Every store on files, and every workspace with the store that lies in it. */
const places = [
  ...Object.keys(stores).map((store) => [store, 'files'] as const),
  ...Object.keys(workspaces)
    .slice(1)
    .map((workspace) => ['workspace', workspace] as const),
];

for (const [storeName, workspaceName] of places) {
  isolationSuite({
    name: `the store ${storeName} on ${workspaceName}`,
    sequences: process.env.X_ATTACKS === undefined ? 10 : undefined,
    areas: {
      logs: /\.log\.jsonl$/,
      memory: /memory\//i,
      plans: /^plans\//,
      tasks: /\/tasks\//,
      files: /^files\//,
    },
    async open(model) {
      const workspace = (workspaces[workspaceName] ?? workspaces.files)?.() as Workspace;
      const store = (await stores[storeName]?.(workspace)) as SessionStore;
      const agent = HarnessAgent.builder()
        .name('keeper')
        .model(model)
        .workspace(workspace)
        .session(store)
        .use(
          toolResultEviction(),
          memory({ model: null, index: `${place()}.db`, maintenance: false }),
          sessionHistory({ index: `${place()}.db` }),
          todoList(),
          planMode({ approval: false }),
          workspaceTools(),
          subagents([], { timeoutMs: 20_000 }),
        )
        .build();
      return { agent, storage: agent.storage };
    },
  });
}
