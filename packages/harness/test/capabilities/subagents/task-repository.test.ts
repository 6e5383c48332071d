import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SessionKey, type Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type TaskRecord, WorkspaceTaskRepository } from '../../../src/index.js';
import { scratch } from '../../support.js';

const owner = SessionKey.of({ userId: 'a/b', agentId: 'lead', sessionId: '../s 1' });

function record(taskId: string, more: Partial<TaskRecord> = {}): TaskRecord {
  const now = '2026-01-01T00:00:00.000Z';
  return {
    taskId,
    agentId: 'worker-1',
    subagent: 'worker',
    task: 'Work',
    status: 'running',
    cancelRequested: false,
    createdAt: now,
    heartbeatAt: now,
    ...more,
  };
}

/** A workspace that cannot lock, and lets others in at every read and write. */
function unlocked(workspace: Workspace): Workspace {
  const yielding = () => new Promise((resolve) => setImmediate(resolve));
  return {
    reach: workspace.reach,
    read: async (...given) => {
      await yielding();
      return workspace.read(...given);
    },
    write: async (...given) => {
      await yielding();
      return workspace.write(...given);
    },
    append: (...given) => workspace.append(...given),
    list: (...given) => workspace.list(...given),
    stat: (path) => workspace.stat(path),
    delete: (path) => workspace.delete(path),
  };
}

describe('WorkspaceTaskRepository', () => {
  it('keeps tasks in a file that no id can lead elsewhere', async () => {
    const root = scratch();
    const repository = new WorkspaceTaskRepository(new LocalWorkspace(root));
    expect(await repository.list(owner)).toEqual([]);
    await repository.change(owner, (records) => [...records, record('t1')]);
    expect(await repository.list(owner)).toEqual([record('t1')]);
    const path = join(root, 'users/a%2fb/agents/lead/tasks/%2e./%2fs%201.json'.replace('/%2f', '%2f'));
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ version: 1, tasks: [record('t1')] });
  });

  it.each([
    ['can lock', (workspace: Workspace) => workspace],
    ['cannot', unlocked],
  ])('loses no change of many at once on a workspace that %s', async (_, wrap) => {
    const workspace = wrap(new LocalWorkspace(scratch()));
    const ids = Array.from({ length: 10 }, (__, index) => `t${index}`);
    await Promise.all(
      ids.map((id) =>
        new WorkspaceTaskRepository(workspace).change(owner, (records) => [...records, record(id)]),
      ),
    );
    const kept = await new WorkspaceTaskRepository(workspace).list(owner);
    expect(kept.map(({ taskId }) => taskId).sort()).toEqual(ids);
  });

  it.each(['{', '[]', '{"version":2,"tasks":[]}', '{"version":1,"tasks":[{}]}'])(
    'never replaces a file that it cannot read: %s',
    async (text) => {
      const root = scratch();
      const key = SessionKey.of({ agentId: 'lead', sessionId: 's' });
      mkdirSync(join(root, 'agents/lead/tasks'), { recursive: true });
      const file = join(root, 'agents/lead/tasks/s.json');
      writeFileSync(file, text);
      const repository = new WorkspaceTaskRepository(new LocalWorkspace(root));
      await expect(repository.change(key, () => [record('t1')])).rejects.toThrow('agents/lead/tasks/s.json');
      expect(readFileSync(file, 'utf8')).toBe(text);
    },
  );

  it('deletes the result of a task that is forgotten, and of no other', async () => {
    const workspace = new LocalWorkspace(scratch());
    const repository = new WorkspaceTaskRepository(workspace);
    const paths = await Promise.all(
      ['t1', 't2'].map((id) => repository.keepResult(owner, id, `result of ${id}`)),
    );
    await repository.change(owner, () => [
      record('t1', { resultPath: paths[0] }),
      record('t2', { resultPath: paths[1] }),
    ]);
    await repository.change(owner, (records) => records.slice(1));
    expect(await workspace.stat(paths[0] ?? '')).toBeUndefined();
    expect(await workspace.stat(paths[1] ?? '')).toBeDefined();
  });

  it('keeps the tasks of any two sessions apart', async () => {
    const id = fc.string({ minLength: 1, maxLength: 8, unit: 'binary' });
    const key = fc.record({ userId: id, agentId: id, sessionId: id });
    const workspace = new LocalWorkspace(scratch());
    let count = 0;
    await fc.assert(
      fc.asyncProperty(key, key, async (left, right) => {
        fc.pre(!SessionKey.of(left).equals(SessionKey.of(right)));
        const repository = new WorkspaceTaskRepository(workspace);
        const taskId = `t${count++}`;
        await repository.change(SessionKey.of(left), () => [record(taskId)]);
        const others = await repository.list(SessionKey.of(right));
        expect(others.some((other) => other.taskId === taskId)).toBe(false);
      }),
      { numRuns: 40 },
    );
  });
});
