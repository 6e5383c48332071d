import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openSession, SessionKey } from '../../src/index.js';
import { LocalWorkspace, WorkspaceSession } from '../../src/node.js';
import { numbered } from '../numbered.js';
import { temporaryDirectory } from '../temporary-directory.js';

const { lstat } = fs;
afterEach(() => lookUpAfter(undefined));

/** From now on something runs, once at a time, after a directory was read and before a name in it is looked up. */
function lookUpAfter(before: ((path: string) => Promise<void>) | undefined): void {
  let waits = before;
  const after = async (path: string) => {
    const now = waits;
    waits = undefined;
    await now?.(path);
    waits = now ?? waits;
    return lstat(path);
  };
  fs.lstat = before === undefined ? lstat : (after as typeof lstat);
  syncBuiltinESMExports();
}

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

async function addTurn(store: WorkspaceSession): Promise<void> {
  const session = await openSession(store, key);
  session.state.contextMutable().push(...numbered(1, 'm'));
  await session.commit();
}

test('lists a file that takes the place of another while the directory is listed', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  await workspace.write('d/version-1', '');
  let version = 1;
  lookUpAfter(async (path) => {
    if (!path.endsWith(`version-${version}`) || version === 3) return;
    await workspace.write(`d/version-${++version}`, '');
    await workspace.delete(`d/version-${version - 1}`);
  });
  const names: string[] = [];
  for await (const { path } of workspace.list('d')) names.push(path);
  expect(names).toEqual(['d/version-3']);
});

test('a session that is written while it is loaded is not loaded as it began', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  const [reader, writer] = [new WorkspaceSession(workspace), new WorkspaceSession(workspace)];
  for (let turn = 0; turn < 3; turn++) await addTurn(writer);
  let commits = 2;
  lookUpAfter(async (path) => {
    if (commits === 0 || !/head-\w+-\d+\.json$/.test(path)) return;
    commits--;
    await addTurn(writer);
  });
  const stored = await reader.load(key);
  expect(commits).toBe(0);
  expect(stored?.version).toBeGreaterThanOrEqual(4);
});

test('lists a directory whose names go one after the other', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  for (let file = 0; file < 30; file++) await workspace.write(`d/${file}`, '');
  const left = new Set(Array.from({ length: 30 }, (_, file) => `d/${file}`));
  lookUpAfter(async (path) => {
    const name = `d/${basename(path)}`;
    left.delete(name);
    await workspace.delete(name);
  });
  const names: string[] = [];
  for await (const { path } of workspace.list('d')) names.push(path);
  expect(left.size).toBeLessThan(30);
  expect(names.toSorted()).toEqual([...left].toSorted());
});
