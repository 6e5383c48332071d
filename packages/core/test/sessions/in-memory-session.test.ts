import { describe, expect, test } from 'vitest';
import { InMemorySession, SessionKey } from '../../src/index.js';
import { commitAt } from '../commit-at.js';
import { numbered } from '../numbered.js';
import { takeLease } from '../take-lease.js';

const key = SessionKey.of('s');

describe('InMemorySession', () => {
  test('changes nothing when a commit cannot be copied', async () => {
    const store = new InMemorySession();
    await commitAt(store, key, { expectedVersion: 0, head: { a: 1 }, keep: 0, append: numbered(3) });
    const uncopyable = { call: () => {} } as never;
    for (const change of [
      { head: uncopyable, keep: 0, append: [] },
      { head: {}, keep: 0, append: [uncopyable] },
    ]) {
      await expect(commitAt(store, key, { ...change, expectedVersion: 1 })).rejects.toThrow(
        /Invalid SessionChange|could not be cloned/,
      );
    }
    expect(await store.load(key)).toMatchObject({ version: 1, head: { a: 1 }, messages: numbered(3) });
  });

  test('gives back what may be nested as deep as anything that is stored, and refuses what is deeper', async () => {
    const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
    const store = new InMemorySession();
    const change = { expectedVersion: 0, keep: 0, append: [] };
    await commitAt(store, key, { ...change, head: nested(1_000) });
    expect((await store.load(key))?.head).toEqual(nested(1_000));
    const deeper = commitAt(store, key, { ...change, expectedVersion: 1, head: nested(20_000) });
    await expect(deeper).rejects.toThrow('is nested more than 1000 levels deep');
    expect((await store.load(key))?.version).toBe(1);
  });

  test.each([-1, 0.5, Number.NaN, 4])('refuses to keep %d of three messages', async (keep) => {
    const store = new InMemorySession();
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: numbered(3) });
    const change = { expectedVersion: 1, head: {}, keep, append: [] };
    await expect(commitAt(store, key, change)).rejects.toMatchObject({ code: 'invalid_input' });
    expect((await store.load(key))?.messages).toHaveLength(3);
  });
});

test('the fences of a session and of a record of the same key differ', async () => {
  const store = new InMemorySession();
  const [lease, other] = [await takeLease(store, key), await takeLease(store.collection('chats'), key)];
  expect(other?.fence).toBeGreaterThan(lease?.fence ?? Number.NaN);
});
