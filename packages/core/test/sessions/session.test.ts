import { describe, expect, test } from 'vitest';
import {
  type AgentState,
  InMemorySession,
  openSession,
  SessionKey,
  SessionStoreError,
  userMessage,
} from '../../src/index.js';
import { LocalWorkspace, WorkspaceSession } from '../../src/node.js';
import { operationId, type SessionChange, type StoredSession } from '../../src/store.js';
import { commitAt } from '../commit-at.js';
import { numbered } from '../numbered.js';
import { temporaryDirectory } from '../temporary-directory.js';
import { thrownBy } from '../thrown-by.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's' });

/** Remembers what was committed to it. */
class RecordingSession extends InMemorySession {
  readonly changes: SessionChange[] = [];

  override commit(sessionKey: SessionKey, change: SessionChange): Promise<number> {
    this.changes.push(change);
    return super.commit(sessionKey, change);
  }
}

test('openSession refuses options that it does not know', async () => {
  const options = { onConflicts: 'merge' } as object;
  await expect(openSession(new InMemorySession(), key, options)).rejects.toThrow('did you mean onConflict');
  const added = 'all' as never;
  await expect(openSession(new InMemorySession(), key, { added })).rejects.toThrow(
    'added: must be a function',
  );
});

describe('openSession', () => {
  test('refuses an id in the place of a key, and says how to make one', async () => {
    const opening = openSession(new InMemorySession(), 's-001' as never);
    await expect(opening).rejects.toThrow(/key: must be a SessionKey: SessionKey\.of\('s-001'\)/);
  });

  test.each([
    ['memory', () => new InMemorySession()],
    ['a workspace', async () => new WorkspaceSession(new LocalWorkspace(await temporaryDirectory()))],
  ])('and so does a store in %s, for which it would be the key of no session', async (_, open) => {
    const store = await open();
    const id = 's-001' as never;
    const change = { operation: operationId(), expected: undefined, keep: 0, head: {}, append: [] };
    for (const attempt of [() => store.load(id), () => store.commit(id, change), () => store.delete(id)]) {
      await expect(attempt()).rejects.toThrow(/key: must be a SessionKey/);
    }
  });

  test('begins a session that exists once it is committed', async () => {
    const store = new InMemorySession();
    const session = await openSession(store, key);
    expect(session).toMatchObject({
      key,
      version: 0,
      state: { sessionId: 's', userId: 'alice', context: [] },
    });
    expect(await store.load(key)).toBeUndefined();
    expect(await session.commit()).toBe(1);
    expect(await store.load(key)).toMatchObject({ version: 1, head: session.state.head(), messages: [] });
  });

  test('loads what was committed', async () => {
    const store = new InMemorySession();
    const first = await openSession(store, key);
    first.state.contextMutable().push(...numbered(3));
    first.state.tasksContext = { todos: [{ content: 'a', status: 'pending' }] };
    await first.commit();
    const second = await openSession(store, key);
    expect(second.version).toBe(1);
    expect(second.state.toJSON()).toEqual(first.state.toJSON());
  });

  test.each([
    ['session_corrupt', {}],
    ['session_corrupt', { schemaVersion: 1, sessionId: 7 }],
    ['session_corrupt', { schemaVersion: 1, sessionId: 's', color: 'red' }],
    ['session_older', { schemaVersion: 0, sessionId: 's' }],
    ['session_newer', { schemaVersion: 2, sessionId: 's' }],
  ])('does not begin a new session over a state that it cannot read, and says %s: %j', async (code, head) => {
    const store = new InMemorySession();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [] });
    const error = await thrownBy(openSession(store, key));
    expect(error).toMatchObject({ code, sessionKey: key.toString() });
    if (code === 'session_corrupt') expect(error.cause).toMatchObject({ code: 'invalid_input' });
  });

  test.each([
    ['extensions.mine', (state: AgentState) => Object.assign(state.extensions, { mine: 'text' })],
    ['extensions.mine.n', (state: AgentState) => Object.assign(state.extensions, { mine: { n: 1n } })],
    [
      'tasksContext.todos[0].content',
      (state: AgentState) => void state.tasksContext.todos.push({ content: '', status: 'pending' }),
    ],
    [
      'context[0].id',
      (state: AgentState) => void state.contextMutable().push({ ...userMessage('x'), id: '' }),
    ],
    [
      'context[0].metadata.run',
      (state: AgentState) =>
        void state.contextMutable().push(userMessage('x', { metadata: { run: (() => 1) as never } })),
    ],
  ])('refuses to commit a state with a bad %s, and still opens', async (path, spoil) => {
    const store = new InMemorySession();
    await (await openSession(store, key)).commit();
    const session = await openSession(store, key);
    spoil(session.state);
    const error = await thrownBy(session.commit());
    expect(error).toMatchObject({ code: 'invalid_input', issues: [expect.objectContaining({ path })] });
    expect((await openSession(store, key)).state.context).toEqual([]);
  });

  test('commits with `fail` what would be merged otherwise', async () => {
    const store = new InMemorySession();
    await (await openSession(store, key)).commit();
    const [first, second] = [
      await openSession(store, key, { onConflict: 'merge' }),
      await openSession(store, key, { onConflict: 'merge' }),
    ];
    first.state.contextMutable().push(...numbered(1));
    await first.commit();
    second.state.contextMutable().push(userMessage('mine'));
    expect(await thrownBy(second.commit({ onConflict: 'fail' }))).toMatchObject({ code: 'session_conflict' });
    await second.commit();
    expect(second.state.context).toHaveLength(2);
  });

  test('opens a bad message of a careless store as a placeholder that keeps its data', async () => {
    const bad = { role: 'user', content: 'Hi' };
    class Careless extends InMemorySession {
      override async load(each: SessionKey): Promise<StoredSession | undefined> {
        const stored = await super.load(each);
        return stored && { ...stored, messages: [...stored.messages, bad as never] };
      }
    }
    const store = new Careless();
    const { state } = await openSession(store, key);
    await commitAt(store, key, { expectedVersion: 0, head: state.head(), keep: 0, append: numbered(1) });
    const { context } = (await openSession(store, key)).state;
    expect(context.map(({ content }) => content)).toEqual([
      numbered(1)[0]?.content,
      [{ type: 'opaque', provider: 'damaged', data: bad }],
    ]);
  });

  test('fails when the store does', async () => {
    const failure = new Error('out of reach');
    class Failing extends InMemorySession {
      override async load(): Promise<StoredSession | undefined> {
        throw failure;
      }
    }
    expect(await thrownBy(openSession(new Failing(), key))).toBe(failure);
  });
});

describe('a commit whose reply was lost', () => {
  class LosesReplies extends RecordingSession {
    lost = 0;
    /** What others do before it is sent again. */
    meanwhile: () => Promise<unknown> = async () => {};

    override async commit(sessionKey: SessionKey, change: SessionChange): Promise<number> {
      const version = await super.commit(sessionKey, change);
      if (this.lost === 0) return version;
      this.lost--;
      await this.meanwhile();
      throw new SessionStoreError('session_unavailable', 'The reply was lost.');
    }
  }

  test('is sent again as it was, and is no conflict with itself', async () => {
    const store = new LosesReplies();
    const session = await openSession(store, key);
    for (let turn = 0; turn < 3; turn++) {
      session.state.contextMutable().push(...numbered(2, `${turn}-`));
      store.lost = 1;
      expect(await session.commit()).toBe(turn + 1);
      expect(store.changes.at(-1)).toEqual(store.changes.at(-2));
    }
    expect((await store.load(key))?.messages).toEqual(session.state.context);
  });

  test('is settled by the next one when the store stays away', async () => {
    const store = new LosesReplies();
    const session = await openSession(store, key);
    session.state.contextMutable().push(...numbered(2));
    store.lost = 9;
    expect(await thrownBy(session.commit())).toMatchObject({ outcome: 'unknown' });
    session.state.contextMutable().push(...numbered(1, 'n'));
    store.lost = 0;
    expect(await session.commit()).toBe(2);
    expect((await store.load(key))?.messages).toEqual([...numbered(2), ...numbered(1, 'n')]);
  });

  test('is there once, also when others have committed since', async () => {
    const store = new LosesReplies();
    const session = await openSession(store, key, { onConflict: 'merge' });
    session.state.contextMutable().push(...numbered(2));
    store.lost = 1;
    store.meanwhile = async () => {
      store.meanwhile = async () => {};
      const other = await openSession(store, key);
      other.state.contextMutable().push(...numbered(1, 'other'));
      await other.commit();
    };
    await session.commit();
    session.state.contextMutable().push(...numbered(1, 'n'));
    await session.commit();
    const ids = (await store.load(key))?.messages.map(({ id }) => id);
    expect(ids).toEqual([...numbered(2), ...numbered(1, 'other'), ...numbered(1, 'n')].map(({ id }) => id));
  });

  test("is in nobody's way when it fails for good and nothing was written", async () => {
    class ClosesConnections extends RecordingSession {
      override commit(sessionKey: SessionKey, change: SessionChange): Promise<number> {
        if (change.append.length < 5) return super.commit(sessionKey, change);
        return Promise.reject(new Error('The connection was closed.'));
      }
    }
    for (const before of [0, 2]) {
      const store = new ClosesConnections();
      const session = await openSession(store, key);
      session.state.contextMutable().push(...numbered(before));
      if (before > 0) await session.commit();
      session.state.contextMutable().push(...numbered(5, 'too large'));
      for (let time = 0; time < 2; time++) await expect(session.commit()).rejects.toThrow('closed');
      session.state.contextMutable().splice(before, 5, ...numbered(1, 'n'));
      await session.commit();
      expect((await store.load(key))?.messages).toEqual(session.state.context);
    }
  });

  test('stays in doubt when it is refused as it is sent again', async () => {
    const store = new LosesReplies();
    const session = await openSession(store, key);
    session.state.contextMutable().push(...numbered(2));
    store.lost = 1;
    const { commit } = store;
    const refuse = () =>
      Promise.reject(new SessionStoreError('session_unavailable', 'Read only.', { outcome: 'none' }));
    store.meanwhile = async () => {
      store.commit = refuse;
    };
    expect(await thrownBy(session.commit())).toMatchObject({ outcome: 'unknown' });
    session.state.contextMutable().push(...numbered(1, 'n'));
    expect(await thrownBy(session.commit())).toMatchObject({ outcome: 'none' });
    store.commit = commit;
    expect(await session.commit()).toBe(2);
  });

  test('is not sent again when nothing was written', async () => {
    class Refuses extends RecordingSession {
      override async commit(sessionKey: SessionKey, change: SessionChange): Promise<number> {
        this.changes.push(change);
        throw new SessionStoreError('session_unavailable', 'Full.', {
          outcome: 'none',
          sessionKey: `${sessionKey}`,
        });
      }
    }
    const store = new Refuses();
    const session = await openSession(store, key);
    await thrownBy(session.commit());
    expect(store.changes).toHaveLength(1);
  });
});

describe('commit', () => {
  test('sends only what was added', async () => {
    const store = new RecordingSession();
    const session = await openSession(store, key);
    session.state.contextMutable().push(...numbered(3));
    await session.commit();
    session.state.contextMutable().push(...numbered(2, 'n'));
    expect(await session.commit()).toBe(2);
    const [first] = store.changes;
    expect(store.changes.map(({ expected, keep, append }) => [expected, keep, append])).toEqual([
      [undefined, 0, numbered(3)],
      [first?.operation, 3, numbered(2, 'n')],
    ]);
  });

  test('sends what follows the first change', async () => {
    const store = new RecordingSession();
    const session = await openSession(store, key);
    const context = session.state.contextMutable();
    context.push(...numbered(5));
    await session.commit();
    context[2] = userMessage('replaced', { id: 'm2' });
    context.pop();
    await session.commit();
    expect(store.changes.at(-1)).toMatchObject({ keep: 2, append: [{ id: 'm2' }, { id: 'm3' }] });
    context.splice(0, 4, userMessage('summary', { id: 'x', kind: 'summary' }));
    await session.commit();
    expect(store.changes.at(-1)).toMatchObject({ keep: 0, append: [{ id: 'x' }] });
    expect((await store.load(key))?.messages).toEqual(session.state.context);
  });

  test('writes nothing when nothing changed, and the head when that did', async () => {
    const store = new RecordingSession();
    await (await openSession(store, key)).commit();
    const session = await openSession(store, key);
    expect(await session.commit()).toBe(1);
    expect(store.changes).toHaveLength(1);
    session.state.planModeContext = { active: true };
    expect(await session.commit()).toBe(2);
    expect(store.changes.at(-1)).toMatchObject({
      keep: 0,
      append: [],
      head: { planModeContext: { active: true } },
    });
  });

  test('of a session that somebody else changed is a conflict, and can be told from success', async () => {
    const store = new InMemorySession();
    const [first, second] = [await openSession(store, key), await openSession(store, key)];
    first.state.contextMutable().push(...numbered(1));
    second.state.contextMutable().push(...numbered(1, 'n'));
    await first.commit();
    expect(await thrownBy(second.commit())).toMatchObject({ code: 'session_conflict', actualVersion: 1 });
    expect(second.version).toBe(0);
    expect((await store.load(key))?.messages).toEqual(numbered(1));
    expect(await thrownBy(second.commit())).toMatchObject({ code: 'session_conflict' });
  });

  test('asked for several times at once does not conflict with itself', async () => {
    const store = new RecordingSession();
    const session = await openSession(store, key);
    const commits: Promise<number>[] = [];
    for (let turn = 0; turn < 4; turn++) {
      session.state.contextMutable().push(...numbered(1, `t${turn}-`));
      commits.push(session.commit());
    }
    await Promise.all(commits);
    expect((await store.load(key))?.messages).toEqual(session.state.context);
    // The first found all that was there; the others found nothing to do.
    expect(store.changes).toHaveLength(1);
  });

  test('is tried again in full after a failure', async () => {
    let failing = true;
    class Failing extends RecordingSession {
      override commit(sessionKey: SessionKey, change: SessionChange): Promise<number> {
        return failing ? Promise.reject(new Error('down')) : super.commit(sessionKey, change);
      }
    }
    const store = new Failing();
    const session = await openSession(store, key);
    session.state.contextMutable().push(...numbered(2));
    await thrownBy(session.commit());
    failing = false;
    session.state.contextMutable().push(...numbered(1, 'n'));
    expect(await session.commit()).toBe(2);
    expect((await store.load(key))?.messages).toEqual(session.state.context);
  });
});
