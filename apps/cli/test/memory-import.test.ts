import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalWorkspace } from '@x/core/node';
import { MemoryService } from '@x/memory';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { x } from './support/run-command.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-memory-import-'));
  mkdirSync(join(directory, 'memory'));
  mkdirSync(join(directory, 'work'));
  writeFileSync(join(directory, 'MEMORY.md'), '- Alice prefers tea\n');
  writeFileSync(join(directory, 'memory/2026-01-31.md'), '- The port is 5433\n');
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

const scope = { userId: 'alice@example.com', agentId: 'MyAgent' };
const owner = ['--agent', scope.agentId, '--user', scope.userId];
const service = () =>
  new MemoryService({
    workspace: new LocalWorkspace(join(directory, 'work')),
    index: ':memory:',
    maintenance: false,
  });

it('puts a memory where its agent finds it, and replaces none', async () => {
  const given = [
    join(directory, 'MEMORY.md'),
    join(directory, 'memory'),
    '-w',
    join(directory, 'work'),
    ...owner,
  ];
  expect(await x(['memory', 'import', ...given])).toMatchObject({ status: 0, stderr: '' });
  const memory = service();
  expect(await memory.read(scope)).toBe('- Alice prefers tea\n');
  expect((await memory.search(scope, 'which port?')).hits).toHaveLength(1);
  await memory.close();
  const again = await x(['memory', 'import', ...given]);
  expect([again.status, again.stderr]).toEqual([2, expect.stringContaining('These files already exist')]);
});

it('is needed: a folder with plain names is told of by the maintenance', async () => {
  const plain = join(directory, 'work/.x/users/alice@example.com/agents/MyAgent');
  mkdirSync(plain, { recursive: true });
  writeFileSync(join(plain, 'MEMORY.md'), readFileSync(join(directory, 'MEMORY.md')));
  const memory = service();
  const { failures } = await memory.maintain();
  await memory.close();
  expect(failures).toEqual([
    expect.stringContaining('no agent reads users/alice@example.com/agents/MyAgent/'),
  ]);
  expect(existsSync(plain)).toBe(true);
});
