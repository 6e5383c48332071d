import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { readText, SessionKey, userMessage } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { expectStored } from '@x/test-support/suites';
import { describe, expect, it } from 'vitest';
import { RedisWorkspace } from '../../src/index.js';
import { dumpRedis, restoreRedis } from '../support/stored.js';
import { collect, testClient } from '../support/test-store.js';

const fixture = (format: number) =>
  fileURLToPath(new URL(`../../fixtures/stored/${format}/workspace.jsonl`, import.meta.url));
const key = SessionKey.of({ tenantId: 'Größe & Co/KG', userId: 'ünï 漢🦀', sessionId: 's:1' });
const messages = ['Hi', 'Größe 🦀'].map((text, index) =>
  userMessage(text, { id: `m${index}`, createdAt: '2026-01-02T03:04:05.678Z' }),
);
const files = {
  'users/alice/MEMORY.md': '- likes tea\n',
  'users/alice/memory/2026-01-02.md': '- größer 🦀\n- and more\n',
  'empty.txt': '',
};

function fresh() {
  const [client, keyPrefix] = [testClient(), `test:${randomUUID()}:`];
  return { client, keyPrefix, workspace: new RedisWorkspace({ client, keyPrefix }) };
}

describe('RedisWorkspace', () => {
  it('what is stored is the fixture of format 1', async () => {
    const { client, keyPrefix, workspace } = fresh();
    for (const [path, text] of Object.entries(files)) {
      const half = Math.floor(text.length / 2);
      await workspace.write(path, text.slice(0, half));
      await workspace.append(path, text.slice(half));
    }
    await workspace.write('deleted.txt', 'gone');
    await workspace.delete('deleted.txt');
    for (const message of messages) await new WorkspaceSessionLog(workspace, key).append([message]);
    // The ids of the latest changes are forgotten after minutes.
    const lasting = (await dumpRedis(client, keyPrefix))
      .split('\n')
      .filter((line) => !line.includes(':operations"'));
    expectStored(fixture(1), lasting.join('\n'));
  });

  it.each([1])('the fixture of format %s is read, listed and gone on with', async (format) => {
    const { client, keyPrefix, workspace } = fresh();
    await restoreRedis(client, keyPrefix, await readFile(fixture(format), 'utf8'));
    for (const [path, text] of Object.entries(files)) expect(await readText(workspace, path)).toBe(text);
    const log = new WorkspaceSessionLog(workspace, key);
    const paths = (await collect(workspace.list('', { recursive: true }))).map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining([...Object.keys(files), log.location]));
    expect(await log.append([...messages, userMessage('More', { id: 'm2' })])).toBeUndefined();
    const lines = (await readText(workspace, log.location)).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(['m0', 'm1', 'm2']);
    await workspace.append('users/alice/MEMORY.md', '- likes cats\n');
    expect(await readText(workspace, 'users/alice/MEMORY.md')).toBe('- likes tea\n- likes cats\n');
    for (const path of paths) await workspace.delete(path);
    expect(await collect(workspace.list('', { recursive: true }))).toEqual([]);
  });
});
