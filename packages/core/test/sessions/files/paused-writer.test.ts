import { describe, expect, test } from 'vitest';
import {
  openSession,
  SessionConflictError,
  SessionKey,
  type SessionStore,
  type Workspace,
} from '../../../src/index.js';
import { LocalWorkspace, WorkspaceSession } from '../../../src/node.js';
import { numbered } from '../../numbered.js';
import { temporaryDirectory } from '../../temporary-directory.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const OPERATIONS = ['read', 'write', 'append', 'stat', 'delete'] as const;

/** What others do while a writer stands still, as all of them find its lock abandoned. */
const meanwhile: Readonly<Record<string, (store: SessionStore) => Promise<unknown>>> = {
  'adds a turn': (store) => addTurn(store, 'b1'),
  'adds three turns': async (store) => {
    for (const turn of ['b1', 'b2', 'b3']) await addTurn(store, turn);
  },
  'replaces everything': async (store) => {
    const session = await openSession(store, key);
    session.state.contextMutable().splice(0, 10, ...numbered(1, 'b'));
    await session.commit();
  },
  'begins the session anew': async (store) => {
    await store.delete(key);
    await addTurn(store, 'b1');
    await addTurn(store, 'b2');
  },
};

async function addTurn(store: SessionStore, turn: string): Promise<void> {
  const session = await openSession(store, key);
  session.state.contextMutable().push(...numbered(2, `${turn}-`));
  await session.commit();
}

/** The same files without exclusion, as for a process that was stopped for longer than others wait for its lock. */
function unlocked(workspace: Workspace, beforeEach: () => Promise<void>): Workspace {
  const lock = (_: string, task: (held: object) => Promise<unknown>) => task({ check: async () => {} });
  const same = Object.create(workspace, { lock: { value: lock } });
  for (const name of OPERATIONS) {
    const operation = workspace[name].bind(workspace) as (...values: unknown[]) => Promise<unknown>;
    const value = async (...values: unknown[]) => {
      await beforeEach();
      const result = await operation(...values);
      // Between a look and what is done about it.
      if (name === 'read') await beforeEach();
      return result;
    };
    Object.defineProperty(same, name, { value });
  }
  Object.defineProperty(same, 'list', {
    value: async function* (path: string) {
      await beforeEach();
      yield* workspace.list(path);
    },
  });
  return same;
}

const open = (root: string, beforeEach: () => Promise<void>) =>
  new WorkspaceSession(unlocked(new LocalWorkspace(root), beforeEach));

describe.each(Object.entries(meanwhile))('a writer that stands still while another one %s', (_, others) => {
  test('overwrites nothing, wherever it stands', async () => {
    let isStopped = true;
    for (let stop = 1; isStopped; stop++) {
      const root = await temporaryDirectory();
      const other = open(root, async () => {});
      await addTurn(other, 'a0');
      let operations = 0;
      isStopped = false;
      let afterOthers: readonly string[] = [];
      const idsNow = async () => (await other.load(key))?.messages.map(({ id }) => id) ?? [];
      const pausing = open(root, async () => {
        if (++operations !== stop) return;
        isStopped = true;
        await others(other);
        afterOthers = await idsNow();
      });
      const paused = await openSession(pausing, key);
      operations = 0;
      isStopped = false;
      paused.state.contextMutable().push(...numbered(2, 'late-'));
      const failure = await paused.commit().then(
        () => undefined,
        (error: unknown) => error,
      );
      const ids = await idsNow();
      if (!isStopped) break;
      if (failure !== undefined) expect(failure, `stopped at ${stop}`).toBeInstanceOf(SessionConflictError);
      // What the others have stored stays; the late turn is there only where it came before, or was told to have failed.
      if (failure === undefined && ids.includes('late-0')) expect(afterOthers).toContain('late-0');
      expect(ids, `stopped at ${stop}`).toEqual(afterOthers);
      await addTurn(other, 'c');
      expect(await idsNow()).toEqual([...afterOthers, 'c-0', 'c-1']);
    }
  });
});

test('a deletion that died half way is no session, and deleting again leaves nothing behind', async () => {
  const root = await temporaryDirectory();
  const workspace = new LocalWorkspace(root);
  const store = new WorkspaceSession(workspace);
  await addTurn(store, 'a');
  await workspace.delete('users/u/context/s/head.json');
  expect(await store.load(key)).toBeUndefined();
  expect(await store.delete(key)).toBe(false);
  expect(await workspace.stat('users/u/context/s')).toBeUndefined();
});

test('what another release wrote is told apart from damage, and left alone', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  const store = new WorkspaceSession(workspace);
  await addTurn(store, 'a');
  const path = 'users/u/context/s/head.json';
  const manifest = JSON.parse(Buffer.from(await workspace.read(path)).toString());
  await workspace.write(path, JSON.stringify({ ...manifest, more: true }));
  expect((await store.load(key))?.messages).toEqual(numbered(2, 'a-'));
  for (const [format, code] of [
    [0, 'session_older'],
    [2, 'session_newer'],
  ]) {
    const other = JSON.stringify({ format, other: true });
    await workspace.write(path, other);
    for (const operation of [() => store.load(key), () => addTurn(store, 'b')]) {
      await expect(operation()).rejects.toMatchObject({ code, outcome: 'none' });
    }
    expect(Buffer.from(await workspace.read(path)).toString()).toBe(other);
  }
});
