import { describe, expect, test } from 'vitest';
import { AgentState, InMemorySession, openSession, SessionKey } from '../../src/index.js';
import { adoptHead, mergeHead } from '../../src/sessions/merge.js';
import { operationId, type SessionChange } from '../../src/store.js';
import { numbered } from '../numbered.js';
import { thrownBy } from '../thrown-by.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's' });
const pending = (content: string) => ({ todos: [{ content, status: 'pending' as const }] });

describe('a commit that somebody else came before', () => {
  test('fails unless told to merge, and leaves state and store as they were', async () => {
    const store = new InMemorySession();
    const [first, second] = [await openSession(store, key), await openSession(store, key)];
    first.state.contextMutable().push(...numbered(1, 'x'));
    second.state.contextMutable().push(...numbered(1, 'y'));
    await first.commit();
    expect(await thrownBy(second.commit())).toMatchObject({ code: 'session_conflict', actualVersion: 1 });
    expect(second.state.context).toEqual(numbered(1, 'y'));
    expect((await store.load(key))?.messages).toEqual(numbered(1, 'x'));
  });

  test('merges turns and fields; ours win only where we changed them', async () => {
    const store = new InMemorySession();
    const first = await openSession(store, key);
    first.state.tasksContext = pending('common');
    first.state.extensions.theirs = { n: 0 };
    first.state.extensions.ours = { n: 0 };
    await first.commit();
    const second = await openSession(store, key, { onConflict: 'merge' });

    first.state.contextMutable().push(...numbered(2, 'x'));
    first.state.tasksContext = pending('changed by the first');
    first.state.extensions.theirs = { n: 1 };
    await first.commit();
    second.state.contextMutable().push(...numbered(2, 'y'));
    second.state.planModeContext = { active: true };
    second.state.extensions.ours = { n: 2 };
    expect(await second.commit()).toBe(3);

    expect(second.state.context).toEqual([...numbered(2, 'x'), ...numbered(2, 'y')]);
    expect(second.state).toMatchObject({
      tasksContext: pending('changed by the first'),
      planModeContext: { active: true },
      extensions: { theirs: { n: 1 }, ours: { n: 2 } },
    });
    expect((await openSession(store, key)).state.toJSON()).toEqual(second.state.toJSON());
  });

  test('does not bring back a session that was deleted', async () => {
    const store = new InMemorySession();
    const session = await openSession(store, key, { onConflict: 'merge' });
    await session.commit();
    await store.delete(key);
    session.state.contextMutable().push(...numbered(1));
    expect(await thrownBy(session.commit())).toMatchObject({ code: 'session_conflict', actualVersion: 0 });
    expect(await store.load(key)).toBeUndefined();
  });

  test('gives up when the others are always faster', async () => {
    let commits = 0;
    class Busy extends InMemorySession {
      override async commit(sessionKey: SessionKey, change: SessionChange): Promise<number> {
        {
          commits++;
          const head = AgentState.create({ sessionId: 's' }).head();
          const { token: expected } = (await super.load(sessionKey)) ?? {};
          await super.commit(sessionKey, { operation: operationId(), expected, head, keep: 0, append: [] });
        }
        return super.commit(sessionKey, change);
      }
    }
    const session = await openSession(new Busy(), key, { onConflict: 'merge' });
    session.state.contextMutable().push(...numbered(1));
    expect(await thrownBy(session.commit())).toMatchObject({ code: 'session_conflict' });
    expect(commits).toBe(6);
    expect(session.state.context).toEqual(numbered(1));
  });
});

test('every field of a head can be merged and adopted', () => {
  const base = AgentState.create({ sessionId: 's', userId: 'u', tenantId: 't' });
  const changed = AgentState.fromParts(
    {
      ...base.head(),
      activeCall: { callId: 'c', startedAt: '2026-01-01T00:00:00.000Z' },
      permissionContext: { ...base.permissionContext, mode: 'bypass' },
      planModeContext: { active: true, planFile: 'p' },
      tasksContext: pending('a'),
      toolContext: { activatedGroups: ['g'] },
      extensions: { e: { n: 1 } },
    },
    [],
  );
  const same = Object.keys(base.head()).filter(
    (name) => JSON.stringify(base.head()[name]) === JSON.stringify(changed.head()[name]),
  );
  // A new field must be given another value above, and a line in `adoptHead`.
  expect(same).toEqual(['schemaVersion', 'sessionId', 'userId', 'tenantId']);
  expect(mergeHead(base.head(), changed.head(), base.head())).toEqual(changed.head());
  expect(mergeHead(base.head(), base.head(), changed.head())).toEqual(changed.head());
  expect(mergeHead(changed.head(), base.head(), changed.head())).toEqual(base.head());

  const state = AgentState.create({ sessionId: 's', userId: 'u', tenantId: 't' });
  state.extensions.gone = { n: 0 };
  adoptHead(state, changed);
  expect(state.head()).toEqual(changed.head());
});
