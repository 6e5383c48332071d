import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { readText, SessionKey, textOf, userMessage, type Workspace, WorkspaceError } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { exclusively } from '../../src/exclusively.js';
import { MemoryFlushManager } from '../../src/index.js';
import { runChild, runUntil } from '../children/run-child.js';
import { factTaker } from '../support/models.js';
import { SIZE } from '../support/size.js';
import { logSession, type TestWorkspace, testWorkspace } from '../support/test-context.js';
import { withoutLock } from '../support/without-lock.js';

describe('several processes', () => {
  it('add to one note, and flush one session, without losing or doubling a bullet', {
    timeout: 300_000,
  }, async () => {
    const workspace = await testWorkspace();
    const names = ['1', '2', '3'];
    const count = 12;
    const codes = await Promise.all(
      names.map((name) => runChild('flush-facts', workspace.root, name, `${count}`)),
    );
    expect(codes).toEqual([0, 0, 0]);
    const notes: string[] = [];
    for await (const { path } of workspace.list('users/alice/memory')) {
      if (path.endsWith('.md')) notes.push(Buffer.from(await workspace.read(path)).toString('utf8'));
    }
    const lines = notes.join('').split('\n');
    for (const line of lines)
      expect(line).toMatch(
        /^(?:- In call \d+: fact-\d+(?: <!-- model \S+ \S+ \S+ -->)?|<!-- flush [0-9a-f]{16} -->|)$/,
      );
    const expected = names.flatMap((name) =>
      [0, 1].flatMap((index) =>
        Array.from(
          { length: count },
          (_, number) => `fact-${name}${index}${String(number).padStart(2, '0')}`,
        ),
      ),
    );
    expect(lines.flatMap((line) => line.match(/fact-\d+/g) ?? []).sort()).toEqual(expected.sort());
  });
});

it('of two processes that are killed again and again, no fact is lost and none doubled', {
  timeout: 600_000,
}, async () => {
  const workspace = await testWorkspace();
  const killed = async (slot: number) => {
    for (let kill = 0; kill < SIZE.kills / 2; kill++) {
      const name = `${slot}${String(kill).padStart(2, '0')}`;
      await runUntil(1 + ((kill * 5 + slot) % 7), 'flush-facts', workspace.root, name, '50');
    }
  };
  await Promise.all([killed(1), killed(2)]);
  const flusher = new MemoryFlushManager({ workspace, model: factTaker() });
  const said: string[] = [];
  const prefix = 'users/alice/sessions/';
  for await (const { path } of workspace.list(prefix.slice(0, -1))) {
    const sessionId = path.slice(prefix.length, -'.log.jsonl'.length);
    const key = SessionKey.of({ userId: 'alice', sessionId });
    for await (const message of new WorkspaceSessionLog(workspace, key).read()) said.push(textOf(message));
    await flusher.flush(key);
  }
  expect(said.length).toBeGreaterThanOrEqual(SIZE.kills);
  let noted = '';
  for await (const { path } of workspace.list('users/alice/memory')) {
    if (path.endsWith('.md')) noted += await readText(workspace, path);
  }
  const lines = noted.split('\n').filter((line) => !line.endsWith('<!-- cut off -->'));
  expect(lines.flatMap((line) => line.match(/fact-\d+/g) ?? []).sort()).toEqual(said.sort());
});

it('two processes on a workspace without locks lose no fact and double none, in notes and in MEMORY.md', {
  timeout: 300_000,
}, async () => {
  const workspace = await testWorkspace();
  const run = (name: string) => runChild('flush-facts', workspace.root, name, '8', 'lockless');
  expect(await Promise.all([run('1'), run('2')])).toEqual([0, 0]);
  const said = ['10', '11', '20', '21'].flatMap((name) =>
    Array.from({ length: 8 }, (_, number) => `fact-${name}0${number}`),
  );
  const factsIn = (text: string) => (text.match(/fact-\d+/g) ?? []).sort();
  let noted = '';
  for await (const { path } of workspace.list('users/alice/memory')) {
    if (path.endsWith('.md')) noted += await readText(workspace, path);
  }
  expect(factsIn(noted)).toEqual(said);
  expect(factsIn(await readText(workspace, 'users/alice/MEMORY.md'))).toEqual(said);
});

/** Whoever waits sees five seconds pass at each look. */
function hurry(): void {
  let time = performance.now();
  const now = vi.spyOn(performance, 'now').mockImplementation(() => {
    time += 5_000;
    return time;
  });
  onTestFinished(() => now.mockRestore());
}

describe.each([1_000, 4_102_444_800])('whether the clock of its files is at %d s or not,', (seconds) => {
  const lease = 'memory/.leases/work/000000000000001';

  it('a lease of a process that died is taken over once it stayed as it is', async () => {
    const workspace = withoutLock(await testWorkspace());
    await workspace.write(lease, 'held 3');
    await utimes(join((workspace as TestWorkspace).root, lease), seconds, seconds);
    // A moment is not enough, but what was seen in it counts for the next that comes.
    await expect(exclusively(workspace, 'work', async () => {}, 0)).rejects.toThrow(
      'in use by another process',
    );
    hurry();
    await expect(exclusively(workspace, 'work', async () => 'done')).resolves.toBe('done');
  });

  it('one that is renewed is not', async () => {
    const workspace = await testWorkspace();
    let renewals = 0;
    const renewing = new Proxy<Workspace>(withoutLock(workspace), {
      get(target, name) {
        if (name !== 'read') return Reflect.get(target, name);
        return async (path: string) => {
          await target.write(path, `held ${++renewals}`);
          await utimes(join(workspace.root, path), seconds, seconds);
          return target.read(path);
        };
      },
    });
    await renewing.write(lease, 'held 0');
    hurry();
    await expect(exclusively(renewing, 'work', async () => {})).rejects.toThrow('in use by another process');
    expect(renewals).toBeGreaterThan(1);
  });
});

it('a lease that was lost is noticed before a write', async () => {
  const workspace = withoutLock(await testWorkspace());
  await exclusively(workspace, 'work', async (check) => {
    await check();
    await workspace.write('memory/.leases/work/000000000000003', 'held 0');
    await expect(check()).rejects.toThrow('lease was lost');
  });
});

it('a workspace that cannot exclude others is still safe within a process', async () => {
  const workspace = await testWorkspace();
  const lockless = withoutLock(workspace);
  const parts = { userId: 'alice', sessionId: 's-1' };
  const facts = Array.from({ length: 8 }, (_, index) => `fact-${index}`);
  await logSession(
    workspace,
    parts,
    facts.map((fact) => userMessage(`${fact} ${'word '.repeat(20)}`)),
  );
  const flushers = [1, 2, 3].map(
    () => new MemoryFlushManager({ workspace: lockless, model: factTaker(), maxBatchTokens: 40 }),
  );
  await Promise.all(flushers.map((flusher) => flusher.flush(SessionKey.of(parts))));
  let text = '';
  for await (const { path } of workspace.list('users/alice/memory')) {
    if (path.endsWith('.md')) text += Buffer.from(await workspace.read(path)).toString('utf8');
  }
  expect(text.match(/fact-\d/g)?.sort()).toEqual(facts);
});

describe('a lease in a workspace without locks', () => {
  /** Hears of every file after it was written. */
  const hearing = (workspace: TestWorkspace, written: (path: string, bytes: number) => Promise<void>) =>
    new Proxy<Workspace>(withoutLock(workspace), {
      get(target, name) {
        if (name !== 'write') return Reflect.get(target, name);
        return async (...parameters: Parameters<Workspace['write']>) => {
          await target.write(...parameters);
          await written(parameters[0], parameters[1].length);
        };
      },
    });

  it('lets one task of a process in at a time, whatever the clock of its files says', async () => {
    const workspace = await testWorkspace();
    const behind = hearing(workspace, (path) => utimes(join(workspace.root, path), 0, 0));
    let inside = 0;
    const most: number[] = [];
    const task = async () => {
      most.push(++inside);
      for (const _ of Array(20)) await workspace.stat('none');
      inside--;
    };
    await Promise.all([exclusively(behind, 'm', task), exclusively(behind, 'm', task)]);
    expect(most).toEqual([1, 1]);
  });

  it('fails no task that is done where it cannot be ended', async () => {
    const failing = hearing(await testWorkspace(), async (path, bytes) => {
      if (bytes === 0) throw new WorkspaceError('workspace_io', path, 'lost');
    });
    expect(await exclusively(failing, 'm', async () => 'done')).toBe('done');
  });
});
