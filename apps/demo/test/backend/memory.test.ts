import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storageOf, type Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkspaceMemory } from '../../src/backend/memory.js';
import { AGENT } from '../../src/create-agent.js';

let data: string;
let workspace: Workspace;
let memory: WorkspaceMemory;
const own = `agents/${AGENT}/`;

beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'x-memory-'));
  workspace = storageOf(new LocalWorkspace(join(data, 'workspace')));
  memory = new WorkspaceMemory(workspace, join(data, 'index.db'));
  await workspace.write(`${own}MEMORY.md`, '# Memory\n\n- Alice prefers Redis\n');
  await workspace.write(`${own}memory/2026-01-30.md`, '- The port is 8080\n');
  await workspace.write(`${own}memory/2026-01-31.md`, '- Redis runs in staging\n');
  await workspace.write(`${own}memory/.flush/s.json`, '{}');
  await workspace.write(`${own}secret.txt`, 'hidden');
  await workspace.write(`users/bob/${own}MEMORY.md`, '- Bob prefers Redis too\n');
});
afterEach(async () => {
  await memory.close();
  rmSync(data, { recursive: true, force: true, maxRetries: 20 });
});

describe('WorkspaceMemory', () => {
  it('lists MEMORY.md, then notes from the newest on, and nothing of the inside', async () => {
    const files = await memory.files();
    expect(files.map(({ name }) => name)).toEqual([
      'MEMORY.md',
      'memory/2026-01-31.md',
      'memory/2026-01-30.md',
    ]);
    expect(files[0]?.path).toBe(`${own}MEMORY.md`);
  });

  it('finds lines by their words, with their numbers, of this user alone', async () => {
    const hits = await memory.search('redis');
    expect(hits.map(({ name, lineNumber }) => `${name}:${lineNumber}`).sort()).toEqual([
      'MEMORY.md:3',
      'memory/2026-01-31.md:1',
    ]);
    expect(hits[0]?.snippet).toContain('Redis');
  });

  it('finds what was written since the last search', async () => {
    expect(await memory.search('turquoise')).toEqual([]);
    await workspace.append(`${own}memory/2026-01-31.md`, '- The color is turquoise\n');
    expect(await memory.search('turquoise')).toMatchObject([{ name: 'memory/2026-01-31.md', lineNumber: 2 }]);
  });
});
