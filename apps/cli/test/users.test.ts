import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool, RuntimeContext } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { HarnessAgent, workspaceTools } from '@x/harness';
import { memory, sessionHistory } from '@x/memory';
import { ScriptedModel } from '@x/testkit';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import pg from 'pg';
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { openStore, type StoreValues } from '../src/open-store.js';
import { filesWith, keysWith, rowsOfMysqlWith, rowsOfPostgresWith } from './support/places-with.js';
import { x } from './support/run-command.js';

const CANARY = 'canary-41d7';
const OTHER = 'canary-b0b0';
const OF_BOB = 'canary-c5e1';

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'x-users-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));
  return directory;
}

/** Everything that holds a text: files of the test and of the home directory, keys and rows. */
async function placesWith(directory: string, text: string): Promise<readonly string[]> {
  const client = new Redis(inject('redisUrl'));
  const mysql = createPool(inject('mysqlUrl'));
  const postgres = new pg.Pool({ connectionString: inject('postgresUrl') });
  try {
    return [
      ...[directory, process.env.HOME ?? ''].flatMap((root) => filesWith(root, text)),
      ...(await keysWith(client, `${own}:`, text)),
      ...(await rowsOfMysqlWith(mysql, own, text)),
      ...(await rowsOfPostgresWith(postgres, own, text)),
    ];
  } finally {
    client.disconnect();
    await mysql.end();
    await postgres.end();
  }
}

const own = `x_${randomBytes(6).toString('hex')}`;
const stores: readonly (readonly [string, (directory: string) => Record<string, string>])[] = [
  ['files', () => ({})],
  ['sqlite', (directory) => ({ sqlite: join(directory, 'sessions.db') })],
  ['redis', () => ({ redis: inject('redisUrl'), 'key-prefix': `${own}:` })],
  ['mysql', () => ({ mysql: inject('mysqlUrl'), table: own })],
  ['postgres', () => ({ postgres: inject('postgresUrl'), table: own })],
];

beforeAll(async () => {
  for (const kind of ['mysql', 'postgres'] as const) {
    const values = { workspace: '', [kind]: inject(`${kind}Url`), table: own };
    const { close } = await openStore(values, { readOnly: false, createTables: true });
    await close();
  }
});

describe.each(stores)('a user on %s', (_, open) => {
  it('is exported whole, and erased to the last byte, and nobody else is', async () => {
    const directory = scratch();
    const workspace = new LocalWorkspace(join(directory, 'workspace'));
    const values: StoreValues = { workspace: join(directory, 'workspace'), ...open(directory) };
    await workspace.write('README.md', 'The files of all.');
    const { store: session, close } = await openStore(values, { readOnly: false, createTables: true });
    const said = (text: string) => [
      { toolCalls: [{ id: 'w', name: 'write_file', input: { path: 'note.txt', content: text } }] },
      { toolCalls: [{ id: 'm', name: 'memory_save', input: { content: `The code is ${text}` } }] },
      { toolCalls: [{ id: 's', name: 'memory_search', input: { query: text } }] },
      { toolCalls: [{ id: 'h', name: 'session_search', input: { query: text } }] },
      { text: `Noted ${text}.` },
    ];
    const index = join(directory, 'index.db');
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([CANARY, OF_BOB, OTHER].flatMap(said)))
      .workspace(workspace)
      .session(session)
      .use(
        memory({ model: null, index, maintenance: false, consolidationGapMs: 0 }),
        sessionHistory(),
        workspaceTools(),
      )
      .build();
    const alice = { userId: 'alice' };
    for (const [scope, text] of [
      [alice, CANARY],
      [{ userId: 'bob' }, OF_BOB],
      [{ tenantId: 'acme', userId: 'alice' }, OTHER],
    ] as const) {
      await agent.call(`Remember: the code is ${text}`, RuntimeContext.of({ ...scope, sessionId: 's' }));
    }
    const records: string[] = [];
    for await (const record of agent.exportUser(alice)) {
      records.push(
        record.type === 'file' ? Buffer.from(record.base64, 'base64').toString() : JSON.stringify(record),
      );
    }
    expect(records.filter((text) => text.includes(CANARY)).length).toBeGreaterThan(2);
    expect(records.join('')).not.toMatch(new RegExp(`${OTHER}|${OF_BOB}`));
    expect((await placesWith(directory, CANARY)).length).toBeGreaterThan(2);

    const report = await agent.eraseUser(alice);
    expect(report).toMatchObject({ sessions: 1, busy: [] });
    expect(report.files).toBeGreaterThan(2);
    expect(await placesWith(directory, CANARY)).toEqual([]);
    await agent.close();
    await close();
    expect(await placesWith(directory, CANARY)).toEqual([]);
    expect((await placesWith(directory, OF_BOB)).length).toBeGreaterThan(2);
    expect((await placesWith(directory, OF_BOB)).join()).toContain(index);
    const options = Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);
    expect(await x(['users', 'export', 'alice', ...options])).toMatchObject({
      stdout: '',
      stderr: 'There is no data of user alice.\n',
    });
    const erased = await x(['users', 'erase', 'bob', '--yes', '--index', index, ...options]);
    expect(erased).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining('Erased 1 session '),
    });
    // Of the command, too: in the index as elsewhere.
    expect(await placesWith(directory, OF_BOB)).toEqual([]);
    const left = await x(['users', 'export', 'alice', '--tenant', 'acme', ...options]);
    expect(left.stdout).toContain('"type":"session"');
  });
});

it('refuses to erase nobody', async () => {
  const directory = scratch();
  const workspace = new LocalWorkspace(join(directory, 'workspace'));
  const agent = HarnessAgent.builder().model(new ScriptedModel([])).workspace(workspace).build();
  await expect(agent.eraseUser({} as never)).rejects.toThrow('userId');
});

it.each(stores)('a user on %s is not erased in the middle of a call, which is named', async (_, open) => {
  const directory = scratch();
  const values: StoreValues = { workspace: join(directory, 'workspace'), ...open(directory) };
  const { store: session, close } = await openStore(values, { readOnly: false, createTables: true });
  const options = Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const erase = () => x(['users', 'erase', 'carol', '--yes', ...options]);
  const during = defineTool({
    name: 'during',
    description: 'Erases who asks.',
    readOnly: true,
    input: z.strictObject({}),
    execute: async () => JSON.stringify(await erase()),
  });
  const call = { toolCalls: [{ name: 'during', input: {} }] };
  const model = new ScriptedModel([call, { text: CANARY }]);
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(new LocalWorkspace(values.workspace ?? ''))
    .session(session)
    .tools(during)
    .build();
  await agent.call('Go', RuntimeContext.of({ userId: 'carol', sessionId: 's' }));
  await agent.close();
  await close();
  expect(JSON.stringify(model.requests[1]?.messages)).toMatch(/These sessions are in use.*carol/);
  expect((await erase()).status).toBe(0);
  expect(await placesWith(directory, CANARY)).toEqual([]);
});
