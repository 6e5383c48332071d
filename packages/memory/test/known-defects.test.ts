// Defects that other memories of this kind have had. Each was someone's lost fact.
import { SessionKey, userMessage, type Workspace, WorkspaceError } from '@x/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryService } from '../src/index.js';
import { ManualClock } from './support/manual-clock.js';
import { between, factTaker, merger } from './support/models.js';
import { consolidatorOf, flusherOf } from './support/parts.js';
import { logSession, type TestWorkspace, testWorkspace } from './support/test-context.js';

const parts = { userId: 'alice', agentId: 'coder', sessionId: 's-1' };
const key = SessionKey.of(parts);
const prefix = 'users/alice/agents/coder/';
const clock = new ManualClock(Date.parse('2026-03-04T12:00:00Z'));
const today = `${prefix}memory/2026-03-04.md`;

const read = async (workspace: TestWorkspace, path: string) =>
  Buffer.from(await workspace.read(path)).toString('utf8');

/** A workspace that cannot read some files for now. */
function unreadable(workspace: TestWorkspace, pattern: RegExp): Workspace {
  return new Proxy(workspace, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'read') return value.bind(target);
      return (path: string, range: object) =>
        pattern.test(path)
          ? Promise.reject(new WorkspaceError('workspace_io', path, 'input/output error'))
          : target.read(path, range);
    },
  });
}

describe('a file that cannot be read', () => {
  it('is not an empty one: the note is not begun anew', async () => {
    const workspace = await testWorkspace();
    await workspace.write(today, '- noted: fact-0\n');
    await logSession(workspace, parts, [userMessage('fact-1')]);
    const failing = flusherOf({
      workspace: unreadable(workspace, /2026-03-04/),
      model: factTaker(),
      clock,
    });
    await expect(failing.flush(key)).rejects.toThrow('input/output error');
    expect(await read(workspace, today)).toBe('- noted: fact-0\n');
    await flusherOf({ workspace, model: factTaker(), clock }).flush(key);
    expect((await read(workspace, today)).match(/fact-\d/g)).toEqual(['fact-0', 'fact-1']);
  });

  it('is not an empty one: MEMORY.md is not replaced', async () => {
    const workspace = await testWorkspace();
    await workspace.write(`${prefix}MEMORY.md`, '# Memory\n- fact-0\n');
    await workspace.write(today, '- fact-1\n');
    const failing = consolidatorOf({
      workspace: unreadable(workspace, /MEMORY\.md/),
      model: merger(),
    });
    await expect(failing.consolidate(parts)).rejects.toThrow('input/output error');
    expect(await read(workspace, `${prefix}MEMORY.md`)).toBe('# Memory\n- fact-0\n');
  });
});

it('a throttled flush does not keep notes from being merged, nor one session another', async () => {
  const workspace = await testWorkspace();
  const flusher = flusherOf({ workspace, model: factTaker(), clock, flush: 'throttled' });
  const scheduler = new MemoryService({ workspace, model: merger(), clock });
  onTestFinished(() => scheduler.close());
  for (const sessionId of ['s-1', 's-2']) {
    await logSession(workspace, { ...parts, sessionId }, [userMessage(`fact-${sessionId.at(-1)}`)]);
    await flusher.flush(SessionKey.of({ ...parts, sessionId }), { reason: 'turn' });
  }
  const { userId, agentId } = parts;
  expect(await scheduler.consolidate({ userId, agentId })).toMatchObject({
    status: 'consolidated',
    lines: 2,
  });
});

it('one user’s consolidation does not skip another’s notes', async () => {
  const workspace = await testWorkspace();
  const consolidator = consolidatorOf({ workspace, model: merger(), clock });
  for (const user of ['a', 'b'])
    await workspace.write(`users/${user}/memory/2026-03-01.md`, `- fact-${user}\n`);
  for (const userId of ['a', 'b'])
    expect(await consolidator.consolidate({ userId })).toMatchObject({ lines: 1 });
});

it('a note is not sent again as a whole because something was added to it, nor one from the archive', async () => {
  const workspace = await testWorkspace();
  const model = merger();
  const consolidator = consolidatorOf({ workspace, model, clock });
  await workspace.write(`${prefix}memory/archive/2025-01-01.md`, '- fact-9\n');
  await workspace.write(today, `${'- fact-1 and much more\n'.repeat(100)}`);
  await consolidator.consolidate({ userId: 'alice', agentId: 'coder' });
  await workspace.append(today, '- fact-2\n');
  await consolidator.consolidate({ userId: 'alice', agentId: 'coder' });
  expect(between(model.prompts[1] ?? '', 'notes')).toBe('n1 (2026-03-04): fact-2');
  expect(model.prompts.join()).not.toContain('fact-9');
});

it('a file of nothing but spaces is nothing, not something to remember', async () => {
  const workspace = await testWorkspace();
  await workspace.write(`${prefix}MEMORY.md`, ' \n\n');
  await workspace.write(today, '\n \n');
  const consolidator = consolidatorOf({ workspace, model: merger(), clock });
  expect((await consolidator.consolidate({ userId: 'alice', agentId: 'coder' })).status).toBe('nothing');
  const model = factTaker();
  await logSession(workspace, parts, [userMessage('fact-1')]);
  await flusherOf({ workspace, model, clock }).flush(key);
  expect(between(model.prompts[0] ?? '', 'known')).toBe('(nothing)');
});
