import { expect, test, vi } from 'vitest';
import { openSession, SessionKey } from '../../src/index.js';
import { LocalWorkspace, WorkspaceSession } from '../../src/node.js';
import { numbered } from '../numbered.js';
import { temporaryDirectory } from '../temporary-directory.js';

/** Runs before a name is looked up, after the directory was read. */
const lookedUp = vi.hoisted((): { before?: ((path: string) => Promise<void>) | undefined } => ({}));
vi.mock(import('node:fs/promises'), async (original) => {
  const module = await original();
  const lstat = async (path: string) => {
    const { before } = lookedUp;
    lookedUp.before = undefined;
    await before?.(path);
    lookedUp.before = before;
    return module.lstat(path);
  };
  return { ...module, lstat: lstat as typeof module.lstat };
});

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
  lookedUp.before = async (path) => {
    if (!path.endsWith(`version-${version}`) || version === 3) return;
    await workspace.write(`d/version-${++version}`, '');
    await workspace.delete(`d/version-${version - 1}`);
  };
  const names: string[] = [];
  for await (const { path } of workspace.list('d')) names.push(path);
  lookedUp.before = undefined;
  expect(names).toEqual(['d/version-3']);
});

test('a session that is written while it is loaded is not loaded as it began', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  const [reader, writer] = [new WorkspaceSession(workspace), new WorkspaceSession(workspace)];
  for (let turn = 0; turn < 3; turn++) await addTurn(writer);
  let commits = 2;
  lookedUp.before = async (path) => {
    if (commits === 0 || !/head-\w+-\d+\.json$/.test(path)) return;
    commits--;
    await addTurn(writer);
  };
  const stored = await reader.load(key);
  lookedUp.before = undefined;
  expect(commits).toBe(0);
  expect(stored?.version).toBeGreaterThanOrEqual(4);
});

test('lists a directory whose names go one after the other', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  for (let file = 0; file < 30; file++) await workspace.write(`d/${file}`, '');
  let next = 0;
  lookedUp.before = async () => {
    await workspace.delete(`d/${next++}`);
  };
  const names: string[] = [];
  for await (const { path } of workspace.list('d')) names.push(path);
  lookedUp.before = undefined;
  expect(names.length).toBeLessThan(30);
});
