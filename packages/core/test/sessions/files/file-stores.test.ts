import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { openSession, SessionKey, userMessage } from '../../../src/index.js';
import { LocalWorkspace, WorkspaceSession } from '../../../src/node.js';
import { printed, runChild } from '../../children/run-child.js';
import { temporaryDirectory } from '../../temporary-directory.js';

// Disks that are busy take their time.
vi.setConfig({ testTimeout: 300_000 });

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

const open = (directory: string) => new WorkspaceSession(new LocalWorkspace(directory));

test('a commit that no lock could be made for says that nothing was written', async () => {
  const directory = await temporaryDirectory();
  const store = open(directory);
  const session = await openSession(store, key);
  await session.commit();
  await rm(join(directory, '.locks'), { recursive: true, force: true });
  await writeFile(join(directory, '.locks'), 'in the way');
  session.state.contextMutable().push(userMessage('Hi'));
  await expect(session.commit()).rejects.toMatchObject({ code: 'session_unavailable', outcome: 'none' });
  await rm(join(directory, '.locks'));
  expect(await session.commit()).toBe(2);
});

describe('several processes with a session in files', () => {
  test('commit each version exactly once, and lose no turn', async () => {
    const directory = await temporaryDirectory();
    const writers = ['a', 'b', 'c'];
    const children = writers.map((writer) => runChild('write-turns', directory, writer, '20'));
    expect(await Promise.all(children.map((child) => child.ended))).toEqual([0, 0, 0]);

    const versions = children.flatMap((child) => child.lines.map(Number));
    expect(versions.sort((left, right) => left - right)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1));
    const stored = await open(directory).load(key);
    expect(stored?.version).toBe(60);
    const turns = writers.flatMap((writer) => Array.from({ length: 20 }, (_, turn) => `${writer}-${turn}-0`));
    expect(stored?.messages.map(({ id }) => id).sort()).toEqual(turns.sort());
  });

  test('that are killed leave whole sessions behind, with every turn that was acknowledged', async () => {
    const directory = await temporaryDirectory();
    const acknowledged: string[] = [];
    for (const [round, turns] of [3, 10, 1, 17].entries()) {
      const child = runChild('write-turns', directory, `r${round}`, '1000000');
      await printed(child, turns);
      child.process.kill('SIGKILL');
      expect(await child.ended).toBeNull();
      acknowledged.push(...child.lines.map((_, turn) => `r${round}-${turn}-0`));

      const stored = await open(directory).load(key);
      const ids = stored?.messages.map(({ id }) => id) ?? [];
      expect(stored?.version).toBe(ids.length);
      expect(ids).toEqual(expect.arrayContaining(acknowledged));
      // At most one more of each round: committed, but killed before it could say so.
      expect(ids.length - acknowledged.length).toBeLessThanOrEqual(round + 1);
    }
  });
});
