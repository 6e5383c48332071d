import { InMemorySession, type SessionKey, SessionStoreError } from '@x/core';
import type { SessionChange } from '@x/core/store';
import { expect, it, onTestFinished } from 'vitest';
import { checkTurns, type TurnEvent, writeTurns } from '../../src/index.js';

const size = { sessions: 3, turns: 4 };

/** What a writer in this process has told, and the store. */
async function written(change?: (store: InMemorySession) => void) {
  const history: TurnEvent[] = [];
  const { send } = process;
  onTestFinished(() => void Object.assign(process, { send }));
  process.send = (event: TurnEvent, told?: unknown) => {
    history.push(event);
    if (typeof told === 'function') told();
    return true;
  };
  const store = new InMemorySession();
  change?.(store);
  await writeTurns(store, { writer: 'w', seed: 1, ...size });
  Object.assign(process, { send });
  return { store, history };
}

it('accepts what one writer has written, and wants something to have been written', async () => {
  const { store, history } = await written();
  await checkTurns(store, size, history);
  expect(history.filter(({ type }) => type === 'begin')).toHaveLength(12);
  expect(history.filter(({ type }) => type === 'ok').length).toBeGreaterThan(12);
  await expect(checkTurns(new InMemorySession(), size, history)).rejects.toThrow(
    '/u-0//s-0 has version undefined',
  );
  await expect(checkTurns(store, size, [])).rejects.toThrow('Only 0 of 12 turns were acknowledged.');
});

it.each<[string, (change: SessionChange) => SessionChange, RegExp]>([
  ['a turn is lost', (change) => ({ ...change, append: [] }), /3 turns/],
  [
    'a turn is there twice',
    (change) => ({ ...change, append: [...change.append, ...change.append] }),
    /twice/,
  ],
  [
    'half of a turn is lost',
    (change) => ({ ...change, append: change.append.slice(0, 1) }),
    /parts of turns/,
  ],
  ['the head is an older one', (change) => ({ ...change, head: { turns: 1 } }), /head \{"turns":1\}/],
])('finds that %s', async (_, damage, complaint) => {
  const { store, history } = await written((made) => {
    const commit = made.commit.bind(made);
    made.commit = (key: SessionKey, change: SessionChange) =>
      commit(key, change.head.turns === 4 ? damage(change) : change);
  });
  await expect(checkTurns(store, size, history)).rejects.toThrow(complaint);
});

it('finds that a commit was made that the store has refused, and made again', async () => {
  let count = 0;
  const { store, history } = await written((made) => {
    const commit = made.commit.bind(made);
    made.commit = async (key, change) => {
      const version = await commit(key, change);
      // Says the untruth once.
      if (++count !== 3) return version;
      throw new SessionStoreError('session_unavailable', 'No.', { outcome: 'none' });
    };
  });
  await expect(checkTurns(store, size, history)).rejects.toThrow(/refused turn w-2, and has it/);
});

it('takes no turn for refused because it could not be sent a second time', async () => {
  const { store, history } = await written((made) => {
    const commit = made.commit.bind(made);
    const sent = new Set<string>();
    made.commit = async (key, change) => {
      if (!sent.has(change.operation)) return commit(key, change).finally(() => sent.add(change.operation));
      throw new SessionStoreError('session_unavailable', 'No lock.', { outcome: 'none' });
    };
  });
  expect(history.filter(({ type }) => type === 'unknown').length).toBeGreaterThan(0);
  await checkTurns(store, size, history);
});

it('sends again what may have been stored, and finds a store that forgets what it has applied', async () => {
  const fail = new SessionStoreError('session_unavailable', 'No reply.');
  const loseReply = (made: InMemorySession) => {
    const commit = made.commit.bind(made);
    let count = 0;
    made.commit = async (key, change) => {
      const version = await commit(key, change);
      if (++count % 4 === 0) throw fail;
      return version;
    };
  };
  const { store, history } = await written(loseReply);
  await checkTurns(store, size, history);
  const forgetful = await written((made) => {
    const commit = made.commit.bind(made);
    made.commit = (key, change) =>
      commit(key, { ...change, operation: `${Math.random()}`.padEnd(18, '0').slice(2, 18) });
    loseReply(made);
  });
  await expect(checkTurns(forgetful.store, size, forgetful.history)).rejects.toThrow(/refused turn/);
});

it.each<[string, (event: TurnEvent) => TurnEvent, RegExp]>([
  [
    'an acknowledged turn is another one by now',
    (event) => (event.type === 'ok' ? { ...event, version: 5 - (event.version ?? 0) } : event),
    /lacks turn w-\d+ at version \d/,
  ],
  [
    'a load did not see what was acknowledged before',
    (event) => (event.type === 'begin' && event.version === 3 ? { ...event, version: 0, last: '' } : event),
    /loaded version 0 after 3 was acknowledged/,
  ],
  [
    'a load saw what was never stored',
    (event) => (event.type === 'begin' && event.version === 3 ? { ...event, last: 'w-99' } : event),
    /loaded turn w-99 at version 3/,
  ],
  [
    'a turn was put before one that was acknowledged when it began',
    (event) => (event.type === 'begin' ? { ...event, at: event.at + 1e9, last: undefined } : event),
    /and it began after 4/,
  ],
  [
    'a turn is there that nobody wrote',
    (event) => (event.type === 'begin' ? { ...event, id: 'w-99' } : event),
    /which nobody wrote/,
  ],
])('finds that %s', async (_, lie, complaint) => {
  const { store, history } = await written();
  await expect(checkTurns(store, size, history.map(lie))).rejects.toThrow(complaint);
});
