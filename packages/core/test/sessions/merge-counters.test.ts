import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InMemorySession, openSession, type Session, SessionKey } from '../../src/index.js';

const key = SessionKey.of({ sessionId: 's' });

function count(session: Session, name: string, by: number): void {
  const { counters } = session.state.extensions.budget ?? {};
  const before = (counters ?? {}) as Record<string, number>;
  session.state.extensions.budget = { counters: { ...before, [name]: (before[name] ?? 0) + by } };
}

test('no writer’s count is lost, however their commits come', async () => {
  const step = fc.record({
    writer: fc.nat({ max: 2 }),
    name: fc.constantFrom('tokens', 'calls'),
    by: fc.nat({ max: 1_000 }),
    commits: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const store = new InMemorySession();
      const open = () => openSession(store, key, { onConflict: 'merge' });
      const writers = [await open(), await open(), await open()];
      const expected: Record<string, number> = {};
      for (const { writer, name, by, commits } of steps) {
        const session = writers[writer];
        if (session === undefined) continue;
        count(session, name, by);
        expected[name] = (expected[name] ?? 0) + by;
        if (commits) await session.commit();
      }
      for (const session of writers) await session.commit();
      const { state } = await open();
      expect(state.extensions.budget?.counters ?? {}).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

test('the rest of an extension is that of whoever changed it, and what is no number stays as we have it', async () => {
  const store = new InMemorySession();
  const first = await openSession(store, key);
  first.state.extensions.mine = { counters: { n: 1, odd: 'a' }, note: 'common' };
  await first.commit();
  const second = await openSession(store, key, { onConflict: 'merge' });
  first.state.extensions.mine = { counters: { n: 3, odd: 'b', theirs: 1 }, note: 'common' };
  await first.commit();
  second.state.extensions.mine = { counters: { n: 5, odd: 'c' }, note: 'ours' };
  await second.commit();
  expect((await openSession(store, key)).state.extensions.mine).toEqual({
    counters: { n: 7, odd: 'c', theirs: 1 },
    note: 'ours',
  });
});
