import { InMemorySession, type SessionStore } from '@x/core';
import { JsonSession, LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { describe, expect, it } from 'vitest';
import { temporaryDirectories } from '../../../packages/testkit/test/store-suite/temporary-directories.js';
import { checkWrongClocks } from '../src/index.js';

const directories = temporaryDirectories();
const memory = () => {
  const store = new InMemorySession();
  return () => store;
};

describe('a wrong clock in either direction', () => {
  it.each<[string, () => Promise<() => SessionStore>]>([
    ['InMemorySession', async () => memory()],
    [
      'WorkspaceSession',
      async () => {
        const directory = await directories.next();
        return () => new WorkspaceSession(new LocalWorkspace(directory));
      },
    ],
    [
      'JsonSession',
      async () => {
        const directory = await directories.next();
        return () => new JsonSession({ directory });
      },
    ],
  ])('takes no session and locks none in %s', async (_, setUp) => {
    const open = await setUp();
    await checkWrongClocks(open(), open());
  });

  it('is noticed where leases end by the time of whoever asks', async () => {
    const store = new InMemorySession();
    const { leases } = store;
    const taken = new Map<string, number>();
    const take = leases.take.bind(leases);
    leases.take = async (key, claim, { over } = {}) => {
      const isOver = Date.now() - (taken.get(`${key}`) ?? Infinity) > claim.ttlMs;
      const fence = await take(key, claim, { over: isOver ? (await leases.find(key))?.fence : over });
      if (fence !== undefined) taken.set(`${key}`, Date.now());
      return fence;
    };
    await expect(checkWrongClocks(store, store)).rejects.toThrow(/Missing expected rejection/);
  });
});
