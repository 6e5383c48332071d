import { utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { userMessage, WorkspaceError } from '@x/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
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
  it('flushes, merges, prunes and clears the index, for everybody in the workspace', async () => {
    const workspace = await testWorkspace();
    const index = await MemoryIndex.open(':memory:');
    onTestFinished(() => index.close());
    const ages = async (path: string, days: number) =>
      utimes(join(workspace.root, path), new Date(now - days * DAY), new Date(now - days * DAY));
    for (const [place, owner] of [
      [prefix, alice],
      ['agents/coder/', { agentId: 'coder' }],
      ['', {}],
    ] as const) {
      await workspace.write(`${place}memory/2026-05-30.md`, '- fact-1\n');
      await logSession(workspace, { ...owner, sessionId: 'old' }, [userMessage('long ago')]);
      await ages(`${place}sessions/old.log.jsonl`, 181);
      await workspace.write(`${place}memory/.flush/old.json`, '{"format":1}');
      for (const [name, days] of [['old', 181] as const, ['new', 179] as const]) {
        await workspace.write(`${place}memory/.sections/${name}.md`, '- fact-0\n');
        await ages(`${place}memory/.sections/${name}.md`, days);
      }
    }
    await logSession(workspace, { ...alice, sessionId: 'new' }, [userMessage('today')]);
    await ages(`${prefix}sessions/new.log.jsonl`, 179);
    await workspace.write('users/gone/MEMORY.md', '- needle\n');
    await index.indexAllFromWorkspace(workspace, { prefix: 'users/gone/' });
    await workspace.delete('users/gone');

    const { scheduler } = setUp(workspace, { index });
    expect(await scheduler.maintain()).toEqual({
      scopes: 3,
      // The three that are pruned, and the younger one.
      flushed: 4,
      consolidated: 3,
      pruned: 3,
      failures: [],
    });
    for (const place of [prefix, 'agents/coder/', '']) {
      expect(await read(workspace, `${place}MEMORY.md`)).toContain('fact-1');
      expect(await workspace.stat(`${place}sessions/old.log.jsonl`)).toBeUndefined();
      expect(await workspace.stat(`${place}memory/.flush/old.json`)).toBeUndefined();
      expect(await workspace.stat(`${place}memory/.sections/old.md`)).toBeUndefined();
      expect(await workspace.stat(`${place}memory/.sections/new.md`)).toBeDefined();
    }
    expect(await workspace.stat(`${prefix}sessions/new.log.jsonl`)).toBeDefined();
    expect(await index.search('needle')).toEqual([]);
  });

  it('archives a note only when all of it has been merged, and what comes late as well', async () => {
    const workspace = await testWorkspace();
    const old = `${prefix}memory/2026-01-01.md`;
    const archived = `${prefix}memory/archive/2026-01-01.md`;
    await workspace.write(old, '- fact-1\n');
    await workspace.write(`${prefix}memory/2026-03-04.md`, '- fact-2\n');
    await workspace.write(`${prefix}memory/plans.md`, 'Not a daily note\n');
    let works = false;
    const merging = merger();
    const model = merger();
    model.generate = (request) => (works ? merging.generate(request) : Promise.reject(new Error('down')));
    const { scheduler, clock } = setUp(workspace, { model });
    await scheduler.maintain(alice);
    expect(await workspace.stat(old)).toBeDefined();
    works = true;
    await scheduler.maintain(alice);
    expect(await read(workspace, archived)).toBe('- fact-1\n');
    expect(await workspace.stat(old)).toBeUndefined();
    await workspace.append(old, '- fact-3\n');
    await scheduler.maintain(alice);
    expect(await read(workspace, archived)).toBe('- fact-1\n- fact-3\n');
    expect(await workspace.stat(`${prefix}memory/2026-03-04.md`)).toBeDefined();
    await clock.pass(5 * DAY);
    await scheduler.maintain(alice);
    expect(await workspace.stat(`${prefix}memory/2026-03-04.md`)).toBeUndefined();
    expect(await workspace.stat(`${prefix}memory/plans.md`)).toBeDefined();
    expect((await read(workspace, `${prefix}MEMORY.md`)).match(/fact-\d/g)?.sort()).toEqual([
      'fact-1',
      'fact-2',
      'fact-3',
    ]);
  });

  it('keeps a note to which something is added while it is archived', async () => {
    const workspace = await testWorkspace();
    const old = `${prefix}memory/2026-01-01.md`;
    const { append } = workspace;
    await workspace.write(old, '- fact-1\n');
    const added = vi.spyOn(workspace, 'append').mockImplementation(async (path, text) => {
      await append.call(workspace, path, text);
      if (path.includes('/archive/')) await append.call(workspace, old, '- fact-2\n');
    });
    const { scheduler } = setUp(workspace);
    await scheduler.maintain(alice);
    expect(await read(workspace, old)).toBe('- fact-1\n- fact-2\n');
    added.mockRestore();
  });

  it('fails where a place cannot be read', async () => {
    const workspace = await testWorkspace();
    const { scheduler } = setUp(workspace);
    vi.spyOn(workspace, 'list').mockImplementation(() => {
      throw new WorkspaceError('workspace_io', prefix, 'out of order');
    });
    await expect(scheduler.maintain(alice)).rejects.toThrow('out of order');
  });

  it('does for the others what fails for one, and leaves what is switched off', async () => {
    const workspace = await testWorkspace();
    await workspace.write('users/a/memory/2026-01-01.md', '- fact-1 bad\n');
    await workspace.write('users/b/memory/2026-01-01.md', '- fact-2\n');
    await logSession(workspace, { userId: 'b', sessionId: 's' }, [userMessage('long ago')]);
    await utimes(join(workspace.root, 'users/b/sessions/s.log.jsonl'), new Date(0), new Date(0));
    const model = modelOf((prompt) => {
      if (prompt.includes('bad')) throw new Error('out of order');
      return prompt.includes('<transcript>') ? 'NO_REPLY' : 'ADD n1: fact-2';
    });
    const { scheduler } = setUp(workspace, { model, pruneSessionsAfterDays: 0 });
    const report = await scheduler.maintain();
    expect(report).toMatchObject({ consolidated: 1, flushed: 1, pruned: 0 });
    expect(report.failures).toEqual(['consolidation of users/a/: out of order']);
    expect(await read(workspace, 'users/b/MEMORY.md')).toContain('fact-2');
  });

  it('says of a folder with plain names beside a memory that no agent reads it', async () => {
    const workspace = await testWorkspace();
    const own = 'users/alice%40example.com/agents/%4dy%41gent/';
    const plain = 'users/alice@example.com/agents/MyAgent/';
    const { scheduler } = setUp(workspace);
    const unread = [expect.stringContaining(`no agent reads ${plain}`)];
    const scope = { userId: 'alice@example.com', agentId: 'MyAgent' };
    await workspace.write(`${own}MEMORY.md`, '- by hand\n');
    expect((await scheduler.maintain(scope)).failures).toEqual([]);
    await workspace.write(`${plain}MEMORY.md`, '- copied\n');
    expect((await scheduler.maintain(scope)).failures).toEqual(unread);
    expect(await scheduler.maintain()).toMatchObject({ scopes: 1, failures: unread });
  });

  it('flushes what nobody has used for ten minutes, by any clock, and only once', async () => {
    const workspace = await testWorkspace();
    for (const [sessionId, minutes] of [
      ['used', -9],
      ['idle', -11],
      ['ahead', 11],
    ] as const) {
      await logSession(workspace, { ...alice, sessionId }, [userMessage('Hi')]);
      const time = new Date(now + minutes * 60_000);
      await utimes(join(workspace.root, `${prefix}sessions/${sessionId}.log.jsonl`), time, time);
    }
    const { scheduler, model } = setUp(workspace, { model: modelOf(() => 'NO_REPLY') });
    await scheduler.maintain();
    expect(model.prompts).toHaveLength(2);
    await scheduler.maintain();
    expect(model.prompts).toHaveLength(2);
  });

  it('deletes an old log once it was read, and keeps no memory of private sessions', async () => {
    const workspace = await testWorkspace();
    for (const [place, owner] of [
      [prefix, alice],
      ['', {}],
    ] as const) {
      await workspace.write(`${place}memory/2026-01-01.md`, '- fact-1\n');
      await logSession(workspace, { ...owner, sessionId: 'old' }, [userMessage('long ago')]);
      await utimes(join(workspace.root, `${place}sessions/old.log.jsonl`), new Date(0), new Date(0));
    }
    let isDown = true;
    const model = modelOf((prompt) => {
      if (isDown) throw new Error('down');
      return prompt.includes('<transcript>') ? 'NO_REPLY' : 'ADD n1: fact-1';
    });
    const { scheduler } = setUp(workspace, { model, withoutUser: 'private' });
    expect(await scheduler.maintain()).toMatchObject({ scopes: 2, pruned: 1, consolidated: 0 });
    expect(await workspace.stat('sessions/old.log.jsonl')).toBeUndefined();
    expect(model.prompts).toHaveLength(2);
    isDown = false;
    expect(await scheduler.maintain()).toMatchObject({ pruned: 1, consolidated: 1, failures: [] });
    expect(await workspace.stat('memory/2026-01-01.md')).toBeDefined();
  });

  it.each([
    ['the ids of a call', '{"ids":["q-1"],"data":{"stopReason":"completed"}}\n'],
    ['a torn line', '{"id":"m-2","ro'],
  ])('deletes an old log that was read and ends with %s', async (_, end) => {
    const workspace = await testWorkspace();
    const log = `${prefix}sessions/old.log.jsonl`;
    await logSession(workspace, { ...alice, sessionId: 'old' }, [userMessage('long ago')]);
    await workspace.append(log, end);
    await utimes(join(workspace.root, log), new Date(0), new Date(0));
    const { scheduler } = setUp(workspace, { model: modelOf(() => 'NO_REPLY') });
    expect(await scheduler.maintain()).toMatchObject({ flushed: 1, pruned: 1, failures: [] });
    expect(await workspace.stat(log)).toBeUndefined();
  });

  it('asks no model where flushes and merges are off, and deletes an old log unread', async () => {
    const workspace = await testWorkspace();
    await workspace.write(`${prefix}memory/2026-05-30.md`, '- fact-1\n');
    await logSession(workspace, { ...alice, sessionId: 'old' }, [userMessage('long ago')]);
    await utimes(join(workspace.root, `${prefix}sessions/old.log.jsonl`), new Date(0), new Date(0));
    const { scheduler, model } = setUp(workspace, { flush: 'never', consolidate: false });
    expect(await scheduler.maintain()).toMatchObject({
      flushed: 0,
      consolidated: 0,
      pruned: 1,
      failures: [],
    });
    expect(model.prompts).toEqual([]);
  });

  it('begins nothing more once it is closed', async () => {
    const workspace = await testWorkspace();
    for (const userId of ['a', 'b']) {
      await workspace.write(`users/${userId}/memory/2026-05-30.md`, '- fact-1\n');
      for (const sessionId of ['one', 'two']) {
        await logSession(workspace, { userId, sessionId }, [userMessage('Hi')]);
        const log = join(workspace.root, `users/${userId}/sessions/${sessionId}.log.jsonl`);
        await utimes(log, new Date(now - HOUR), new Date(now - HOUR));
      }
    }
    const model = modelOf(() => {
      void scheduler.close();
      return 'NO_REPLY';
    });
    const { scheduler } = setUp(workspace, { model });
    const { scopes, failures } = await scheduler.maintain();
    expect(model.prompts).toHaveLength(1);
    expect(scopes).toBe(1);
    expect(failures).toEqual([
      expect.stringMatching(/^session "\w+" of users\/a\/: .* aborted/),
      'it was stopped',
    ]);
  });

  it('does not report automatic work that close stops as a failure', async () => {
    const { scheduler } = setUp(await testWorkspace(), {});
    const automatic = scheduler.maintainIfDue('');
    await scheduler.close();
    expect(await automatic).toBe('');
  });

  it('leaves a place to another process that is maintaining it', async () => {
    const workspace = await testWorkspace();
    await workspace.write('memory/2026-05-30.md', '- fact-1\n');
    const model = modelOf(() => 'ADD n1: fact-1');
    const { generate } = model;
    let answer = () => {};
    let first: Promise<unknown> | undefined;
    await new Promise<void>((asked) => {
      model.generate = async (request) => {
        const mayAnswer = new Promise<void>((resolve) => {
          answer = resolve;
        });
        asked();
        await mayAnswer;
        return generate(request);
      };
      first = setUp(workspace, { model }).scheduler.maintain();
    });
    const second = setUp(storageIn(dirname(workspace.root)));
    expect(await second.scheduler.maintain()).toMatchObject({ scopes: 1, consolidated: 0, failures: [] });
    expect(second.model.prompts).toEqual([]);
    answer();
    expect(await first).toMatchObject({ consolidated: 1 });
  });
});

describe('an agent', () => {
  it('maintains the memory of a user after a call, and again after six hours', async () => {
    const workspace = await testWorkspace();
    const { scheduler, clock } = setUp(workspace);
    await workspace.write(`${prefix}memory/.flush/x.json`, 'damaged');
    await logSession(workspace, { ...alice, sessionId: 'x' }, [userMessage('long ago')]);
    const failure = 'session "x" of';
    expect(await scheduler.maintainIfDue(prefix)).toContain(failure);
    await clock.pass(6 * HOUR - 1);
    expect(await scheduler.maintainIfDue(prefix)).toBe('');
    expect(await scheduler.maintainIfDue('users/bob/')).toBe('');
    await clock.pass(1);
    expect(await scheduler.maintainIfDue(prefix)).toContain(failure);
    const { scheduler: off } = setUp(workspace, { maintenance: false });
    expect(await off.maintainIfDue(prefix)).toBe('');
  });

  it('merges at most once in half an hour, though each process maintains after its first call', async () => {
    const workspace = await testWorkspace();
    const { scheduler, clock, model } = setUp(workspace);
    for (const fact of ['fact-1', 'fact-2']) {
      await workspace.append(`${prefix}memory/2026-06-01.md`, `- ${fact}\n`);
      await setUp(workspace, { clock, model }).scheduler.maintainIfDue(prefix);
    }
    expect(model.prompts).toHaveLength(1);
    await scheduler.maintain(prefix);
    expect(model.prompts).toHaveLength(2);
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
  expect(() => new MemoryService({ workspace, pruneSessionsAfterDays: -5 })).toThrow(
    'pruneSessionsAfterDays',
  );
});
