import { InMemorySession, ItemLog, SessionKey, SessionStoreError, userMessage } from '@x/core';
import { expect, it } from 'vitest';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-001' });
const itemsOf = async (log: ItemLog) => (await log.read()).messages.map((message) => log.item(message));

it('loses nothing of writers that add at the same time, and reads only when somebody else has written', async () => {
  const store = new InMemorySession();
  let reads = 0;
  const load = store.load.bind(store);
  store.load = (at) => {
    reads += 1;
    return load(at);
  };
  const [a, b] = [new ItemLog(store, key, 'mine'), new ItemLog(store, key, 'mine')];
  for (let at = 0; at < 5; at++) await a.append(() => [a.message({ at })]);
  expect(reads).toBe(1);
  await Promise.all([a, b].map((log, who) => log.append(() => [log.message({ who })])));
  expect(await itemsOf(a)).toHaveLength(7);
  expect(await itemsOf(b)).toEqual(await itemsOf(a));
});

it('tells who appends what the log holds whenever it had to be read', async () => {
  const store = new InMemorySession();
  const [a, b] = [new ItemLog(store, key, 'mine'), new ItemLog(store, key, 'mine')];
  const seen: (number | undefined)[] = [];
  const add = (log: ItemLog) =>
    log.append((loaded) => {
      seen.push(loaded?.messages.length);
      return [log.message({})];
    });
  await add(a);
  await add(a);
  await add(b);
  // The first try meets what the other has written, and is made again.
  await add(a);
  expect(seen).toEqual([0, undefined, 2, undefined, 3]);
});

it.each([true, false])(
  'sends a commit again whose reply was lost (applied: %s), and adds its items once',
  async (applied) => {
    const store = new InMemorySession();
    const commit = store.commit.bind(store);
    let isLost = true;
    store.commit = async (at, change) => {
      const version = isLost && !applied ? 0 : await commit(at, change);
      if (!isLost) return version;
      isLost = false;
      throw new SessionStoreError('session_unavailable', 'No reply.', { outcome: 'unknown' });
    };
    const log = new ItemLog(store, key, 'mine');
    await log.append(() => [log.message({ at: 1 })]);
    expect(await itemsOf(log)).toEqual([{ at: 1 }]);
  },
);

it('adds its items once if the store has forgotten the commit whose reply was lost', async () => {
  const store = new InMemorySession();
  const commit = store.commit.bind(store);
  const other = new ItemLog(store, key, 'mine');
  let isLost = true;
  store.commit = async (at, change) => {
    const version = await commit(at, change);
    if (!isLost) return version;
    isLost = false;
    for (let count = 0; count < 10; count++) await other.append(() => [other.message({ by: 'other' })]);
    throw new SessionStoreError('session_unavailable', 'No reply.', { outcome: 'unknown' });
  };
  const log = new ItemLog(store, key, 'mine');
  await log.append(() => [log.message({ by: 'me' })]);
  const items = await itemsOf(log);
  expect(items.filter(({ by }) => by === 'me')).toHaveLength(1);
  expect(items).toHaveLength(11);
});

it.each(['commit', 'load'] as const)(
  'repeats each %s of a change until the store accepts it',
  async (name) => {
    const store = new InMemorySession();
    const inner: (...values: never[]) => Promise<unknown> = store[name].bind(store);
    let attempts = 0;
    Object.assign(store, {
      [name]: async (...values: never[]) => {
        if (++attempts > 5) return inner(...values);
        const details = { outcome: 'none', isTransient: true } as const;
        throw new SessionStoreError('session_unavailable', 'NOREPLICAS', details);
      },
    });
    const log = new ItemLog(store, key, 'mine');
    await log.append(() => [log.message({ at: 1 })]);
    expect(attempts).toBe(6);
    expect(await itemsOf(log)).toEqual([{ at: 1 }]);
    const impatient = new ItemLog(store, key, 'mine', 0);
    attempts = 0;
    await expect(impatient.append(() => [log.message({})])).rejects.toThrow('NOREPLICAS');
    expect(attempts).toBe(2);
  },
);

it('does not restore a log that was deleted since it was read', async () => {
  const store = new InMemorySession();
  const log = new ItemLog(store, key, 'mine');
  const add = () => log.append(() => [log.message({ at: 1 })]);
  const changes = [add, () => log.change(() => ({ keep: 0, append: [log.message({ at: 1 })] }))];
  for (const change of changes) {
    await add();
    await store.delete(key);
    await expect(change()).rejects.toMatchObject({ code: 'session_deleted' });
    expect(await store.load(key)).toBeUndefined();
    // Later changes, and changes after the next read, begin a new log.
    await change();
    await store.delete(key);
    await log.read({ last: 1 });
    await change();
    expect(await itemsOf(log)).toEqual([{ at: 1 }]);
  }
});

it('keeps its state beside the items, and apart from that of others', async () => {
  const store = new InMemorySession();
  const log = new ItemLog(store, key, 'mine');
  await log.change(() => ({ keep: 0, append: [log.message({ text: 'Hi' }, 'user')], state: { cursor: 1 } }));
  await log.append(() => [log.message({ text: 'Ho' })]);
  expect((await new ItemLog(store, key, 'mine').read()).state).toEqual({ cursor: 1 });
  expect((await new ItemLog(store, key, 'other').read()).state).toEqual({});
  expect((await log.read()).messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
});

it('refuses a message that is no item of its own', async () => {
  const log = new ItemLog(new InMemorySession(), key, 'mine');
  const other = new ItemLog(new InMemorySession(), key, 'other');
  for (const message of [userMessage('Hi'), other.message({})]) {
    expect(() => log.item(message)).toThrow(SessionStoreError);
  }
});

it('waits for earlier changes to read, but not for later ones', async () => {
  const log = new ItemLog(new InMemorySession(), key, 'mine');
  let changes = 0;
  let isRead = false;
  const write = async () => {
    while (!isRead && changes < 100) await log.append(() => [log.message({ at: changes++ })]);
  };
  const writers = [write(), write()];
  expect(await itemsOf(log)).toContainEqual({ at: 1 });
  isRead = true;
  await Promise.all(writers);
  expect(changes).toBeLessThan(10);
});
