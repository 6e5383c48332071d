import { expect, test } from 'vitest';
import { InMemorySession, openSession, SessionKey, userMessage } from '../../src/index.js';
import { LocalWorkspace, WorkspaceSession } from '../../src/node.js';
import { commitAt } from '../commit-at.js';
import { temporaryDirectory } from '../temporary-directory.js';

const empty = { head: {}, keep: 0, append: [] };

test('a listing neither repeats nor forgets a session when others are begun, changed and deleted meanwhile', async () => {
  const store = new InMemorySession();
  const ids = Array.from({ length: 510 }, (_, index) => `s-${index}`);
  const commit = (id: string) => commitAt(store, SessionKey.of(id), { expectedVersion: 'latest', ...empty });
  for (const id of ids) await commit(id);
  const found: string[] = [];
  for await (const { key } of store.list()) {
    found.push(key.parts.sessionId);
    if (found.length > 1) continue;
    for (const id of ['s-0', 's-300', 'new']) await commit(id);
  }
  expect(new Set(found).size).toBe(found.length);
  expect(found).toEqual(expect.arrayContaining(ids));
});

test('a session is called what was asked first, also when that is gone from its context', async () => {
  const store = new InMemorySession();
  const key = SessionKey.of('s');
  const session = await openSession(store, key);
  session.state.contextMutable().push(userMessage(`\n  Fix the ${'very '.repeat(30)}slow build\nand more`));
  session.state.metadata = { topic: 'build' };
  await session.commit();
  session.state.contextMutable().splice(0, 1, userMessage('Later'));
  await session.commit();
  const [info] = await all(store.list());
  expect(info).toMatchObject({
    metadata: { topic: 'build' },
    title: expect.stringMatching(/^Fix the very .{67}$/),
  });
  const again = await openSession(store, key);
  expect(again.state.title).toBe(info?.title);
  again.state.title = 'My own';
  await again.commit();
  expect((await all(store.list()))[0]?.title).toBe('My own');
});

test('a listing says how many calls of a session wait for a decision', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  for (const store of [new InMemorySession(), new WorkspaceSession(workspace)]) {
    const session = await openSession(store, SessionKey.of('s'));
    const { permissionContext } = session.state;
    const waits = { id: 'a', toolUseId: 'a', askedAt: '2026-01-01T00:00:00.000Z' };
    const decided = { ...waits, id: 'b', decision: { type: 'approve' as const } };
    session.state.permissionContext = { ...permissionContext, pending: [waits, decided] };
    await session.commit();
    expect((await all(store.list()))[0]?.pendingApprovals).toBe(1);
    session.state.permissionContext = permissionContext;
    await session.commit();
    expect((await all(store.list()))[0]).not.toHaveProperty('pendingApprovals');
  }
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
