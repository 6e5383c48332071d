import { utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { userMessage, WorkspaceError } from '@x/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryIndex, MemoryService } from '../../src/index.js';
import type { MemoryServiceOptions } from '../../src/settings.js';
import { ManualClock } from '../support/manual-clock.js';
import { merger, modelOf } from '../support/models.js';
import { logSession, storageIn, type TestWorkspace, testWorkspace } from '../support/test-context.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const now = Date.parse('2026-06-01T12:00:00Z');
const alice = { tenantId: 't/1', userId: 'alice', agentId: 'coder' };
const prefix = 'tenants/t%2f1/users/alice/agents/coder/';

function setUp(
  workspace: TestWorkspace,
  options: Partial<MemoryServiceOptions> & { readonly model?: ReturnType<typeof modelOf> } = {},
) {
  const { model = merger(), ...rest } = options;
  const clock = (rest.clock as ManualClock | undefined) ?? new ManualClock(now);
  const scheduler = new MemoryService({
    workspace,
    model,
    withoutUser: 'shared',
    clock,
    ...rest,
  });
  onTestFinished(() => scheduler.close());
  return { scheduler, clock, model };
}

const read = async (workspace: TestWorkspace, path: string) =>
  Buffer.from(await workspace.read(path)).toString('utf8');

describe('a pass', () => {
  it('archives, merges, prunes and indexes, for everybody in the workspace', async () => {
    const workspace = await testWorkspace();
    const index = await MemoryIndex.open(':memory:');
    onTestFinished(() => index.close());
    for (const place of [prefix, 'agents/coder/', '']) {
      await workspace.write(`${place}memory/2026-05-30.md`, '- fact-1\n');
      await logSession(
        workspace,
        place === prefix
          ? { ...alice, sessionId: 'old' }
          : place === ''
            ? { sessionId: 'old' }
            : { agentId: 'coder', sessionId: 'old' },
        [userMessage('long ago')],
      );
      const log = `${place}sessions/old.log.jsonl`;
      await utimes(join(workspace.root, log), new Date(now - 181 * DAY), new Date(now - 181 * DAY));
      await workspace.write(`${place}memory/.flush/old.json`, '{"format":1}');
    }
    await logSession(workspace, { ...alice, sessionId: 'new' }, [userMessage('today')]);
    await utimes(
      join(workspace.root, `${prefix}sessions/new.log.jsonl`),
      new Date(now - 179 * DAY),
      new Date(now - 179 * DAY),
    );

    const { scheduler } = setUp(workspace, { index });
    expect(await scheduler.maintain()).toEqual({
      status: 'done',
      scopes: 3,
      // The three that are pruned, and the younger one.
      flushed: 4,
      archived: 0,
      consolidated: 3,
      pruned: 3,
      failures: [],
    });
    for (const place of [prefix, 'agents/coder/', '']) {
      expect(await read(workspace, `${place}MEMORY.md`)).toContain('fact-1');
      expect(await workspace.stat(`${place}sessions/old.log.jsonl`)).toBeUndefined();
      expect(await workspace.stat(`${place}memory/.flush/old.json`)).toBeUndefined();
    }
    expect(await workspace.stat(`${prefix}sessions/new.log.jsonl`)).toBeDefined();
    expect((await index.search('fact', { limit: 50 })).length).toBeGreaterThanOrEqual(6);
  });

  it('archives a note only when all of it has been merged, and what comes late as well', async () => {
    const workspace = await testWorkspace();
    const old = `${prefix}memory/2026-01-01.md`;
    const archived = `${prefix}memory/archive/2026-01-01.md`;
    await workspace.write(old, '- fact-1\n');
    await workspace.write(`${prefix}memory/2026-03-04.md`, '- fact-2\n');
    await workspace.write(`${prefix}memory/plans.md`, 'Not a daily note\n');
    const { scheduler, clock } = setUp(workspace);
    expect(await scheduler.maintain()).toMatchObject({ archived: 0, consolidated: 1 });
    expect(await scheduler.maintain()).toMatchObject({ archived: 1, consolidated: 0 });
    expect(await read(workspace, archived)).toBe('- fact-1\n');
    expect(await workspace.stat(old)).toBeUndefined();
    await workspace.append(old, '- fact-3\n');
    await scheduler.maintain();
    await scheduler.maintain();
    expect(await read(workspace, archived)).toBe('- fact-1\n- fact-3\n');
    expect(await workspace.stat(`${prefix}memory/2026-03-04.md`)).toBeDefined();
    await clock.pass(5 * DAY);
    expect(await scheduler.maintain()).toMatchObject({ archived: 1 });
    expect(await workspace.stat(`${prefix}memory/plans.md`)).toBeDefined();
    expect((await read(workspace, `${prefix}MEMORY.md`)).match(/fact-\d/g)?.sort()).toEqual([
      'fact-1',
      'fact-2',
      'fact-3',
    ]);
  });

  it('does for the others what fails for one, and leaves what is switched off', async () => {
    const workspace = await testWorkspace();
    await workspace.write('users/a/memory/2026-01-01.md', '- fact-1 bad\n');
    await workspace.write('users/b/memory/2026-01-01.md', '- fact-2\n');
    const model = modelOf((prompt) => {
      if (prompt.includes('bad')) throw new Error('out of order');
      return 'ADD n1: fact-2';
    });
    const { scheduler } = setUp(workspace, {
      model,
      maintenance: { archiveAfterDays: 0, pruneSessionsAfterDays: 0 },
    });
    const report = await scheduler.maintain();
    expect(report).toMatchObject({ consolidated: 1, archived: 0 });
    expect(report.failures).toEqual(['consolidation of users/a/: out of order']);
    expect(await read(workspace, 'users/b/MEMORY.md')).toContain('fact-2');
  });
});

describe('of several processes', () => {
  /** A model that waits until it may answer. */
  function gate() {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let asked = () => {};
    const wasAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const model = {
      ...modelOf(() => 'ADD n1: fact-1'),
      async generate() {
        asked();
        await opened;
        return {
          content: [{ type: 'text' as const, text: 'ADD n1: fact-1' }],
          finishReason: 'stop' as const,
        };
      },
    };
    return { model, open, wasAsked };
  }

  it('one works at a time, by the lock of the workspace', async () => {
    const workspace = await testWorkspace();
    await workspace.write('memory/2026-05-30.md', '- fact-1\n');
    const { model, open, wasAsked } = gate();
    const first = setUp(workspace, { model }).scheduler.maintain();
    await wasAsked;
    const other = storageIn(dirname(workspace.root));
    const second = setUp(other).scheduler;
    expect((await second.maintain()).status).toBe('busy');
    open();
    expect(await first).toMatchObject({ status: 'done', consolidated: 1 });
    expect(await second.maintain()).toMatchObject({ status: 'done', consolidated: 0 });
  });

  it('stops when it loses the lock', async () => {
    const workspace = await testWorkspace();
    await workspace.write('memory/2026-05-30.md', '- fact-1\n');
    await workspace.write('users/z/memory/2026-05-30.md', '- fact-1\n');
    let checks = 0;
    const lock = workspace.lock?.bind(workspace);
    workspace.lock = async (name, task, options) => {
      if (lock === undefined) throw new Error('The workspace has no lock.');
      if (name !== 'memory maintenance') return lock(name, task, options);
      const check = async () => {
        if (++checks > 1) throw new WorkspaceError('locked', name, 'the lock was lost');
      };
      return task({ check });
    };
    await expect(setUp(workspace).scheduler.maintain()).rejects.toThrow('the lock was lost');
    expect(await workspace.stat('MEMORY.md')).toBeDefined();
    expect(await workspace.stat('users/z/MEMORY.md')).toBeUndefined();
  });

  it('the interval counts for all together, also across restarts', async () => {
    const workspace = await testWorkspace();
    const clock = new ManualClock(now);
    let completed = 0;
    const replica = () => {
      const storage = storageIn(dirname(workspace.root));
      const write = storage.write.bind(storage);
      storage.write = async (path, data) => {
        await write(path, data);
        if (path.endsWith('.maintenance_state')) completed++;
      };
      return setUp(storage, { clock }).scheduler;
    };
    const schedulers = [replica(), replica()];
    for (const scheduler of schedulers) {
      scheduler.start();
      scheduler.start();
    }
    const waiting = (count: number) => expect.poll(() => clock.sleepers, { timeout: 50_000 }).toBe(count);
    await waiting(2);
    completed = 0;
    await clock.pass(6 * HOUR - 1);
    await waiting(2);
    expect(completed).toBe(0);
    await clock.pass(1);
    await expect.poll(() => [clock.sleepers, completed], { timeout: 50_000 }).toEqual([2, 1]);
    for (const scheduler of schedulers) await scheduler.close();
    expect([clock.sleepers, completed]).toEqual([0, 1]);

    await clock.pass(HOUR);
    replica().start();
    await waiting(1);
    await clock.pass(5 * HOUR - 1);
    expect(completed).toBe(1);
    await clock.pass(1);
    await expect.poll(() => completed, { timeout: 50_000 }).toBe(2);
  });
});

describe('a consolidation on request', () => {
  it('happens once in half an hour for each scope, whoever asks', async () => {
    const workspace = await testWorkspace();
    const { scheduler, clock } = setUp(workspace);
    const say = (place: string, fact: string) =>
      workspace.append(`${place}memory/2026-06-01.md`, `- ${fact}\n`);
    expect((await scheduler.consolidate(alice)).status).toBe('nothing');
    await say(prefix, 'fact-1');
    await say('agents/coder/', 'fact-2');
    expect((await scheduler.consolidate(alice)).status).toBe('consolidated');
    await say(prefix, 'fact-3');
    expect((await scheduler.consolidate(alice)).status).toBe('skipped');
    expect((await scheduler.consolidate({ agentId: 'coder' })).status).toBe('consolidated');
    const other = setUp(workspace, { clock }).scheduler;
    expect((await other.consolidate(alice)).status).toBe('skipped');
    await clock.pass(30 * 60_000);
    expect((await other.consolidate(alice)).status).toBe('consolidated');
    expect(await read(workspace, `${prefix}MEMORY.md`)).toContain('fact-3');
  });

  it('that failed is not repeated at once', async () => {
    const workspace = await testWorkspace();
    await workspace.write(`${prefix}memory/2026-06-01.md`, '- fact-1\n');
    const { scheduler, model } = setUp(workspace, {
      model: modelOf(() => {
        throw new Error('out of order');
      }),
    });
    await expect(scheduler.consolidate(alice)).rejects.toThrow('out of order');
    expect((await scheduler.consolidate(alice)).status).toBe('skipped');
    expect(model.prompts).toHaveLength(1);
  });
});

it('refuses a malformed configuration', async () => {
  const workspace = await testWorkspace();
  expect(() => new MemoryService({ workspace, interval: 1 } as never)).toThrow('unknown key');
  expect(() => new MemoryService({ workspace, maintenance: { intervalMs: 5 } })).toThrow(
    'maintenance.intervalMs',
  );
});
