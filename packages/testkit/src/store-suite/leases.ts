import { SessionKey, SessionLeaseError, type SessionStore } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { operationId, type SessionProcesses } from '@x/core/store';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { claimOf, type TakenLease, takeLease } from '../take-lease.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const ttlMs = 600_000;

/** One holder at a time has a session's turn, and only the newest may write. */
export function leases(suite: StoreSuite): void {
  describe('leases', () => {
    // Long because it is a list of tests.
    suite.testLeases('one claim at a time has the lease, until it is released', async (store) => {
      const first = await granted(store);
      expect(await takeLease(store, key)).toBeUndefined();
      await first.release();
      const second = await granted(store);
      expect(second.fence).toBeGreaterThan(first.fence);
    });

    suite.testLeases('find answers who has a lease, and takes none', async (store) => {
      const find = (of = key) => store.leases?.find(of);
      expect(await find()).toBeUndefined();
      const first = await granted(store);
      const held = { ...first.claim, fence: first.fence };
      expect(await Promise.all([find(), find()])).toEqual([held, held]);
      expect(await find(SessionKey.of({ userId: 'u', sessionId: 'other' }))).toBeUndefined();
      await first.release();
      // Those who ask are in nobody's way, not even in one another's.
      for (let round = 0; round < 5; round++) {
        const [lease] = await Promise.all([takeLease(store, key), find(), find()]);
        expect(lease).toBeDefined();
        await lease?.release();
        expect(await Promise.all([find(), find()])).toEqual([undefined, undefined]);
      }
    });

    suite.testLeases('of concurrent requests for a lease, one succeeds', async (store) => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => takeLease(store, key)));
      expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
    });

    suite.testLeases('of concurrent requests to take a lease over, one succeeds', async (store) => {
      const { fence } = await granted(store);
      const asked = Array.from({ length: 10 }, () => takeLease(store, key, { over: fence }));
      expect((await Promise.all(asked)).filter((answer) => answer !== undefined)).toHaveLength(1);
    });

    suite.testLeases('every session has its own lease', async (store) => {
      await granted(store);
      for (const other of [
        { sessionId: 's' },
        { userId: 'U', sessionId: 's' },
        { userId: 'u', sessionId: 'S' },
      ]) {
        expect(await takeLease(store, SessionKey.of(other)), JSON.stringify(other)).toBeDefined();
      }
    });

    suite.testLeases('a lease does not create a session', async (store) => {
      const lease = await granted(store);
      expect(await store.load(key)).toBeUndefined();
      for await (const info of store.list()) expect(info).toBeUndefined();
      await lease.release();
      expect(await store.delete(key)).toBe(false);
    });

    suite.testLeases('a claim that asks again has its lease, as after a lost reply', async (store) => {
      const { claim } = await granted(store);
      const again = await takeLease(store, key, { claim });
      const change = { expectedVersion: 0, append: numbered(1), fence: again?.fence };
      expect(await commitAt(store, key, change)).toBe(1);
      expect(await takeLease(store, key)).toBeUndefined();
      await again?.release();
      expect(await takeLease(store, key)).toBeDefined();
    });

    suite.testLeases('a lease is taken over by its fence, and its old holder cannot write', async (store) => {
      const old = await granted(store);
      await commitAt(store, key, { expectedVersion: 0, append: numbered(1), fence: old.fence });
      expect(await old.confirm()).toBe(true);
      expect(await takeLease(store, key, { over: old.fence - 1 })).toBeUndefined();
      const next = await granted(store, { over: old.fence });
      expect(next.fence).toBeGreaterThan(old.fence);
      expect(await takeLease(store, key, { over: old.fence })).toBeUndefined();
      const before = await store.load(key);
      for (const keep of [1, 0]) {
        const late = { expectedVersion: 1, head: {}, keep, append: numbered(1, 'late'), fence: old.fence };
        expect(await lossOf(commitAt(store, key, late))).toMatchObject({ sessionKey: key.toString() });
      }
      expect(await old.confirm()).toBe(false);
      await old.release();
      expect(await store.load(key)).toEqual(before);
      expect(await store.leases?.find(key)).toMatchObject({ fence: next.fence });
      const change = { expectedVersion: 1, head: {}, keep: 1, append: numbered(1, 'n'), fence: next.fence };
      expect(await commitAt(store, key, change)).toBe(2);
    });

    suite.testLeases('the holder of the newest lease can write', async (store) => {
      const lease = await granted(store);
      for (let version = 0; version < 3; version++) {
        const change = { head: {}, keep: 0, append: numbered(1), fence: lease.fence };
        expect(await commitAt(store, key, { ...change, expectedVersion: version })).toBe(version + 1);
        expect(await lease.confirm()).toBe(true);
      }
    });

    suite.testLeases('a lease does not stop writers without a fence', async (store) => {
      await granted(store);
      const change = { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) };
      expect(await commitAt(store, key, change)).toBe(1);
    });

    suite.testLeases('fences grow across a deletion', async (store) => {
      const old = await granted(store);
      await commitAt(store, key, { expectedVersion: 0, append: numbered(1), fence: old.fence });
      await store.delete(key);
      await old.release();
      const next = await granted(store);
      expect(next.fence).toBeGreaterThan(old.fence);
      const late = { expectedVersion: 'latest', head: {}, keep: 0, append: numbered(1) } as const;
      await lossOf(commitAt(store, key, { ...late, fence: old.fence }));
      expect(await store.load(key)).toBeUndefined();
    });

    suite.testLeases('after a deletion, the holder of the lease cannot write', async (store) => {
      const change = { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) };
      for (const commits of [[], [change]]) {
        const lease = await granted(store);
        for (const each of commits) await commitAt(store, key, { ...each, fence: lease.fence });
        expect(await store.delete(key)).toBe(commits.length > 0);
        expect(await store.leases?.find(key)).toBeUndefined();
        await lossOf(commitAt(store, key, { ...change, fence: lease.fence }));
        expect(await store.load(key)).toBeUndefined();
      }
    });

    suite.testLeases('releasing a lease twice, or after it was lost, does nothing', async (store) => {
      const first = await granted(store);
      await first.release();
      await first.release();
      await granted(store);
      await first.release();
      expect(await takeLease(store, key)).toBeUndefined();
    });

    suite.testLeases('delete unless leased leaves a session that is leased', async (store) => {
      const change = { expectedVersion: 0, head: {}, keep: 0, append: numbered(1) };
      const unlessLeased = true;
      for (const free of [false, true]) {
        await commitAt(store, key, change);
        const before = await store.load(key);
        const lease = await granted(store);
        for (const over of [undefined, lease.fence - 1])
          expect(await store.delete(key, { unlessLeased, over })).toBe(false);
        expect(await store.load(key)).toEqual(before);
        expect(await store.leases?.find(key)).toMatchObject({ fence: lease.fence });
        if (free) await lease.release();
        expect(await store.delete(key, { unlessLeased, token: 'none', over: lease.fence })).toBe(false);
        const over = free ? undefined : lease.fence;
        expect(await store.delete(key, { unlessLeased, token: before?.token, over })).toBe(true);
        expect(await store.load(key)).toBeUndefined();
        expect(await store.leases?.find(key)).toBeUndefined();
      }
      expect(await store.delete(key, { unlessLeased })).toBe(false);
      await granted(store);
      expect(await store.delete(key)).toBe(false);
    });

    suite.testLeases('the look of a process changes with every beat, until it is retired', async (store) => {
      const processes = processesOf(store);
      expect(await processes.look('one')).toBeUndefined();
      await processes.beat({ id: 'one', ttlMs }, []);
      const first = await processes.look('one');
      expect(first).toBeDefined();
      expect(await processes.look('one')).toBe(first);
      expect(await processes.look('two')).toBeUndefined();
      await processes.beat({ id: 'one', ttlMs: ttlMs + 1_000 }, []);
      expect(await processes.look('one')).not.toBe(first);
      await processes.retire('one');
      expect(await processes.look('one')).toBeUndefined();
      await processes.retire('one');
    });

    suite.testLeases('notes reach a process until it acknowledges them', async (store) => {
      const processes = processesOf(store);
      const beat = (...acknowledged: readonly Note[]) => processes.beat({ id: 'one', ttlMs }, acknowledged);
      const note = (text: string): Note => ({ id: operationId(), text });
      const [a, b, c] = [note('{"a":1}'), note(' % \\u00e9 "\'\\ '), note('')];
      expect(await processes.send('one', a)).toBe(false);
      expect(await beat()).toEqual([]);
      expect(await processes.send('one', a)).toBe(true);
      expect(await processes.send('one', b)).toBe(true);
      expect(await beat()).toEqual([a, b]);
      expect(await processes.send('one', c)).toBe(true);
      expect(await beat(a, b)).toEqual([c]);
      // The reply to that was lost.
      expect(await beat(a, b)).toEqual([c]);
      expect(await beat(c)).toEqual([]);
      expect(await processes.beat({ id: 'two', ttlMs }, [])).toEqual([]);
      expect(await processes.send('one', a)).toBe(true);
      await processes.retire('one');
      expect(await processes.send('one', a)).toBe(false);
      expect(await beat()).toEqual([]);
    });

    suite.testLeases('a turn is taken over from a process that has no record', async (store) => {
      const dead = await granted(store);
      const turn = await takeTurn(store, key);
      expect(turn.fence).toBeGreaterThan(dead.fence);
      expect(await dead.confirm()).toBe(false);
      await turn.release();
      expect(await store.leases?.find(key)).toBeUndefined();
    });

    if (suite.options.reopen === undefined) return;
    suite.testLeases('other instances see a lease, and send notes', async (first, reopen) => {
      const second = await reopen();
      const lease = await granted(first);
      expect(await takeLease(second, key)).toBeUndefined();
      await lease.release();
      await granted(second);
      expect(await takeLease(first, key)).toBeUndefined();
      const late = { expectedVersion: 0, head: {}, keep: 0, append: [], fence: lease.fence };
      await lossOf(commitAt(first, key, late));
      await processesOf(first).beat({ id: 'one', ttlMs }, []);
      const note = { id: operationId(), text: 'Hello' };
      expect(await processesOf(second).send('one', note)).toBe(true);
      expect(await processesOf(first).beat({ id: 'one', ttlMs }, [])).toEqual([note]);
    });

    suite.testLeases('of two processes, one has the turn', async (first, reopen) => {
      const second = await reopen();
      const turn = await takeTurn(first, key);
      const rejected = errorOf(SessionLeaseError, takeTurn(second, key, { turns: 'reject' }));
      expect((await rejected).code).toBe('lease_unavailable');
      const next = takeTurn(second, key);
      await turn.release();
      expect((await next).fence).toBeGreaterThan(turn.fence ?? Number.NaN);
      await (await next).release();
    });
  });
}

type Note = Parameters<SessionProcesses['send']>[1];

function processesOf(store: SessionStore): SessionProcesses {
  if (store.leases === undefined) throw new Error('The store has no leases.');
  return store.leases.processes;
}

async function granted(store: SessionStore, options: { readonly over?: number } = {}): Promise<TakenLease> {
  const lease = await takeLease(store, key, { ...options, claim: claimOf() });
  if (lease === undefined) throw new Error('The lease should have been granted.');
  return lease;
}

async function lossOf(operation: Promise<unknown>): Promise<SessionLeaseError> {
  const error = await errorOf(SessionLeaseError, operation);
  expect(error.code).toBe('lease_lost');
  return error;
}
