import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolResultEviction } from '@x/compaction';
import {
  InMemorySession,
  type Model,
  mountWorkspace,
  observeStore,
  type RuntimeContext,
  type SessionStore,
  storageOf,
  type Workspace,
} from '@x/core';
import type { UserScope } from '@x/core/internal';
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
import { afterAll, expect, inject } from 'vitest';
import { openAgent } from '../../src/agent/open-agent.js';
import { filesWith, keysWith, rowsOfMysqlWith, rowsOfPostgresWith } from '../support/places-with.js';

const directory = mkdtempSync(join(tmpdir(), 'x-isolation-'));
const closers: (() => unknown)[] = [() => rmSync(directory, { recursive: true })];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});
const place = () => join(directory, randomUUID());
const own = randomUUID().replaceAll('-', '');
const keyPrefix = `attacks:${own}:`;
const table = `attacks_${own.slice(0, 8)}`;
/** Ends what a store of files leaves for its end, before it is searched. */
const endings: (() => Promise<void>)[] = [];
function sqlite(): SqliteSession {
  const store = new SqliteSession({ file: `${place()}.db` });
  endings.push(() => store.close());
  return store;
}
/** Searches of whatever has been opened. */
const searches: ((text: string) => Promise<readonly string[]>)[] = [
  async (text) => filesWith(directory, text),
];

function redis() {
  const client = new Redis(inject('redisUrl'));
  closers.push(() => client.quit());
  searches.push((text) => keysWith(client, keyPrefix, text));
  return { client, keyPrefix: `${keyPrefix}${randomUUID()}:` };
}

const workspaces: Readonly<Record<string, () => Workspace>> = {
  files: () => new LocalWorkspace(place()),
  mounts: () => mountWorkspace(new LocalWorkspace(place()), { repo: new LocalWorkspace(place()) }),
  Redis: () => new RedisWorkspace(redis()),
};

const stores: Readonly<Record<string, (workspace: Workspace) => Promise<SessionStore>>> = {
  workspace: async (workspace) => new WorkspaceSession(storageOf(workspace)),
  async memory() {
    const store = new InMemorySession();
    searches.push(async (text) => {
      const found: string[] = [];
      for await (const { key } of store.list({}))
        if (JSON.stringify(await store.load(key)).includes(text)) found.push(key.toString());
      return found;
    });
    return store;
  },
  'sqlite, observed': async () => observeStore(sqlite(), () => {}),
  json: async () => new JsonSession({ directory: place() }),
  sqlite: async () => sqlite(),
  redis: async () => new RedisSession(redis()),
  async mysql() {
    const pool = createPool(inject('mysqlUrl'));
    closers.push(() => pool.end());
    const store = new MysqlSession({ pool, table });
    searches.push((text) => rowsOfMysqlWith(pool, table, text));
    await store.createTables();
    return store;
  },
  async postgres() {
    const pool = new pg.Pool({ connectionString: inject('postgresUrl') });
    closers.push(() => pool.end());
    const store = new PostgresSession({ pool, table });
    searches.push((text) => rowsOfPostgresWith(pool, table, text));
    await store.createTables();
    return store;
  },
};

/** Every store on files, and every workspace with the store that is in it. */
const places = [
  ...Object.keys(stores).map((store) => [store, 'files'] as const),
  ...Object.keys(workspaces)
    .slice(1)
    .map((workspace) => ['workspace', workspace] as const),
];

const EVICTED = /^large_tool_results\//;
const AREAS = {
  logs: /\.log\.jsonl$/,
  memory: /memory\//i,
  evictions: EVICTED,
  plans: /^plans\//,
  tasks: /general-purpose.*\.log\.jsonl$/,
  files: /^files\//,
};

/** Proves that a user is handed what is kept of all kinds, and no file of anybody else. */
async function expectWholeExport(agent: HarnessAgent, user: UserScope, text: string): Promise<void> {
  const agents: string[] = [];
  const paths: string[] = [];
  for await (const record of agent.exportUser(user)) {
    if (record.type === 'file') {
      expect(record.path).toContain('tenants/acme/users/alice/');
      if (Buffer.from(record.base64, 'base64').includes(text)) paths.push(record.path);
    } else if (JSON.stringify(record.messages).includes(text)) agents.push(record.key.agentId ?? '');
  }
  for (const area of Object.values(AREAS)) expect(paths).toContainEqual(expect.stringMatching(area));
  expect(agents).toContain('keeper/general-purpose');
}

for (const [storeName, workspaceName] of places) {
  let opened: HarnessAgent;
  isolationSuite({
    name: `the store ${storeName} on ${workspaceName}`,
    sequences: process.env.X_ATTACKS === undefined ? 10 : undefined,
    areas: AREAS,
    async leftAfterErasing(user, text) {
      await expectWholeExport(opened, user, text);
      await opened.eraseUser(user);
      for (const end of endings.splice(0)) await end();
      return (await Promise.all(searches.map((search) => search(text)))).flat();
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
          toolResultEviction({ maxUserChars: 20_000 }),
          memory({ model: null, index: `${place()}.db`, maintenance: false }),
          sessionHistory(),
          todoList(),
          planMode({ approval: false }),
          workspaceTools(),
          subagents([], { timeoutMs: 20_000 }),
        )
        .build();
      opened = agent;
      return { agent, storage: agent.storage, session: store };
    },
  });
}

let running: HarnessAgent;
let endRunning: () => Promise<void>;
const project = place();
isolationSuite({
  name: 'the agent of a file, as x run opens it',
  sequences: Math.min(1_000, Number(process.env.X_ATTACKS ?? 10)),
  areas: {
    logs: /\.log\.jsonl$/,
    evictions: EVICTED,
    tasks: /general-purpose.*\.log\.jsonl$/,
    files: /^files\//,
  },
  async leftAfterErasing(user, text) {
    await running.eraseUser(user);
    await endRunning();
    return [...filesWith(project, text), ...filesWith(process.env.HOME ?? '', text)];
  },
  async open(model) {
    mkdirSync(project);
    const file = join(project, 'agent.yaml');
    writeFileSync(
      file,
      [
        'model: compatible:attacker',
        'workspace: .',
        'permissions: { mode: bypass }',
        // Strangers use it, and `x run` is made for one person.
        'features: { tool_result_eviction: { max_user_chars: 20000 }, session_history: { without_user: private } }',
        'capabilities: [todo_list, workspace_tools, subagents]',
      ].join('\n'),
    );
    const endpoint = { OPENAI_BASE_URL: 'http://127.0.0.1:1' };
    const { agent, close } = await openAgent(file, { trust: true, environment: endpoint });
    closers.push(close);
    running = agent;
    endRunning = close;
    return { agent: attacking(agent, model), storage: agent.storage, session: agent.session };
  },
});

/** Has the model of each call be another than the file's. */
function attacking(agent: HarnessAgent, model: Model) {
  return {
    call: (input: string, context: RuntimeContext) => agent.call(input, context, { model }),
    close: () => agent.close(),
  };
}
