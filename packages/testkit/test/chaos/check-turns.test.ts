import { InMemorySession, type SessionChange, type SessionKey } from '@x/core';
import { expect, it } from 'vitest';
import { type AcknowledgedTurn, checkTurns, writeTurns } from '../../src/index.js';

const size = { sessions: 3, turns: 4 };

it('accepts what one writer has written', async () => {
  const store = new InMemorySession();
  await expect(checkTurns(store, size, [])).rejects.toThrow('/u-0//s-0 has version undefined');
  await writeTurns(store, { writer: 'w', seed: 1, ...size });
  await checkTurns(store, size, await turnsOf(store));
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
  const store = new InMemorySession();
  const commit = store.commit.bind(store);
  store.commit = (key: SessionKey, change: SessionChange) =>
    commit(key, change.head.turns === 4 ? damage(change) : change);
  await writeTurns(store, { writer: 'w', seed: 1, ...size });
  await expect(checkTurns(store, size, [])).rejects.toThrow(complaint);
});

it('finds that an acknowledged turn is another one by now, or was acknowledged in vain', async () => {
  const store = new InMemorySession();
  await writeTurns(store, { writer: 'w', seed: 1, ...size });
  const [first, ...others] = await turnsOf(store);
  if (first === undefined) throw new Error('There are no turns.');
  for (const turn of [
    { ...first, id: 'lost' },
    { ...first, version: 3 },
  ]) {
    await expect(checkTurns(store, size, [turn, ...others])).rejects.toThrow(`lacks turn ${turn.id}`);
  }
});

async function turnsOf(store: InMemorySession): Promise<AcknowledgedTurn[]> {
  const turns: AcknowledgedTurn[] = [];
  for await (const { key } of store.list()) {
    const questions = (await store.load(key))?.messages.filter(({ id }) => id.endsWith('/question')) ?? [];
    questions.forEach(({ id }, index) => {
      turns.push({ session: `${key}`, version: index + 1, id: id.slice(0, -'/question'.length) });
    });
  }
  return turns;
}
