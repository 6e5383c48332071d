import { SessionKey, SessionLeaseError, type SessionStore } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { operationId, type SessionProcesses } from '@x/core/store';
import { describe, expect } from 'vitest';
import { errorOf } from '../error-of.js';
import { type TakenLease, takeLease } from '../take-lease.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const ttlMs = 600_000;

/** Tests that only one holder has a session's lease, and that only the newest holder may write. */
export function leases(suite: StoreSuite): void {
  describe('leases', () => {
    // Long because it is a list of tests.
    suite.testLeases('those who ask for a lease are in nobody’s way', async (store) => {
      const find = () => store.leases?.find(key);
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
      // Repeated, as if the first reply was lost.
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
    suite.testLeases('other instances send notes', async (first, reopen) => {
      const second = await reopen();
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

async function granted(store: SessionStore): Promise<TakenLease> {
  const lease = await takeLease(store, key);
  if (lease === undefined) throw new Error('The lease should have been granted.');
  return lease;
}
