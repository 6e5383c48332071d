import { describe, expect, test } from 'vitest';
import { InMemorySession, SessionKey } from '../../src/index.js';
import { LEASE_TTL_MS, takeTurn } from '../../src/internal.js';
import type { SessionLease } from '../../src/store.js';
import { commitAt } from '../commit-at.js';
import { ManualClock } from '../manual-clock.js';
import { thrownBy } from '../thrown-by.js';

const key = SessionKey.of('s');

function setUp() {
  const clock = new ManualClock();
  return { clock, store: new InMemorySession({ clock }) };
}

/** A store whose renewals do what the test says. */
class FlakyLeases extends InMemorySession {
  renewals = 0;
  fail: (() => Promise<void>) | undefined;

  override async lease(...parameters: Parameters<InMemorySession['lease']>) {
    const lease = await super.lease(...parameters);
    if (lease === undefined) return undefined;
    const renew = () => {
      this.renewals++;
      return this.fail?.() ?? lease.renew();
    };
    return { ...lease, renew } satisfies SessionLease;
  }
}

describe('takeTurn', () => {
  test('waits in line, and gets the turn when it is given up', async () => {
    const { clock, store } = setUp();
    const first = await takeTurn(store, key, { clock });
    const told: string[] = [];
    const waiting = takeTurn(store, key, { clock, onWait: () => told.push('It waits.') });
    await clock.pass(0);
    expect(told).toEqual(['It waits.']);
    await clock.pass(40_000);
    await first.release();
    await clock.pass(1000);
    const second = await waiting;
    expect(second.fence).toBeGreaterThan(first.fence ?? 0);
    expect(first.lost.aborted).toBe(false);
    expect(told).toHaveLength(1);
    await second.release();
    await takeTurn(store, key, { clock, onWait: () => told.push('In vain.') });
    expect(told).toHaveLength(1);
  });

  test('gives up after the time-out, and says so', async () => {
    const { clock, store } = setUp();
    await takeTurn(store, key, { clock });
    const waiting = thrownBy(takeTurn(store, key, { clock, timeoutMs: 5000 }));
    await clock.pass(4999);
    expect(await Promise.race([waiting, 'still waiting'])).toBe('still waiting');
    await clock.pass(1);
    const error = await waiting;
    expect(error).toMatchObject({ code: 'lease_unavailable', sessionKey: key.toString() });
    expect(error.message).toContain('did not end within 5000 ms');
  });

  test('fails at once when told to reject', async () => {
    const { clock, store } = setUp();
    await takeTurn(store, key, { clock });
    const error = await thrownBy(takeTurn(store, key, { clock, turns: 'reject' }));
    expect(error).toMatchObject({ code: 'lease_unavailable' });
  });

  test('does not make sessions wait for each other', async () => {
    const { clock, store } = setUp();
    await takeTurn(store, key, { clock });
    const other = await takeTurn(store, SessionKey.of('other'), { clock, turns: 'reject' });
    expect(other.fence).toBeDefined();
  });

  test('stops waiting when its signal is aborted', async () => {
    const { clock, store } = setUp();
    await takeTurn(store, key, { clock });
    const abort = new AbortController();
    const waiting = thrownBy(takeTurn(store, key, { clock, signal: abort.signal }));
    await clock.pass(100);
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await waiting).toBe(reason);
  });

  test('keeps the turn for as long as it takes, and stops when it is released', async () => {
    const clock = new ManualClock();
    const store = new FlakyLeases({ clock });
    const turn = await takeTurn(store, key, { clock, ttlMs: 30_000 });
    await clock.pass(300_000);
    expect(turn.lost.aborted).toBe(false);
    expect(store.renewals).toBe(30);
    await turn.release();
    await clock.pass(300_000);
    expect(store.renewals).toBe(30);
    expect(turn.lost.aborted).toBe(false);
  });

  test('takes over within 3 s from a holder that died, which learns that it lost', async () => {
    const clock = new ManualClock();
    const store = new FlakyLeases({ clock });
    const dead = await takeTurn(store, key, { clock });
    const waiting = takeTurn(store, key, { clock });
    store.fail = () => new Promise<void>(() => {});
    await clock.pass(LEASE_TTL_MS);
    expect(dead.lost.aborted).toBe(true);
    await clock.pass(3000 - LEASE_TTL_MS);
    store.fail = undefined;
    expect((await waiting).fence).toBeGreaterThan(dead.fence ?? 0);
    const late = commitAt(store, key, {
      expectedVersion: 0,
      head: {},
      keep: 0,
      append: [],
      fence: dead.fence,
    });
    expect(await thrownBy(late)).toMatchObject({ code: 'lease_lost' });
  });

  test('is lost when a renewal says so', async () => {
    const clock = new ManualClock();
    const store = new FlakyLeases({ clock });
    const turn = await takeTurn(store, key, { clock, heartbeatMs: 1000 });
    await store.delete(key);
    await clock.pass(999);
    expect(turn.lost.aborted).toBe(false);
    await clock.pass(1);
    expect(turn.lost.reason).toMatchObject({ code: 'lease_lost' });
  });

  test.each([
    ['fails', () => Promise.reject(new Error('out of reach'))],
    ['does not answer', () => new Promise<void>(() => {})],
  ])('outlives a store that %s for a moment, not for longer than the lease', async (_, fail) => {
    const clock = new ManualClock();
    const store = new FlakyLeases({ clock });
    const turn = await takeTurn(store, key, { clock, ttlMs: 30_000 });
    store.fail = fail;
    await clock.pass(29_999);
    expect(turn.lost.aborted).toBe(false);
    await clock.pass(1);
    expect(turn.lost.reason).toMatchObject({ code: 'lease_lost' });
  });

  test('goes on after a failed renewal', async () => {
    const clock = new ManualClock();
    const store = new FlakyLeases({ clock });
    const turn = await takeTurn(store, key, { clock, ttlMs: 30_000 });
    store.fail = () => Promise.reject(new Error('out of reach'));
    await clock.pass(15_000);
    store.fail = undefined;
    await clock.pass(300_000);
    expect(turn.lost.aborted).toBe(false);
  });

  describe('of a process that stood still for longer than the lease', () => {
    const standStill = async () => {
      const clock = new ManualClock();
      const store = new FlakyLeases({ clock });
      const turn = await takeTurn(store, key, { clock, ttlMs: 30_000 });
      await clock.pass(5000);
      clock.standStill(60_000);
      return { clock, store, turn };
    };

    test('goes on when nobody else has had it', async () => {
      const { clock, turn } = await standStill();
      await clock.pass(300_000);
      expect(turn.lost.aborted).toBe(false);
    });

    test('is lost when somebody else has', async () => {
      const { clock, store, turn } = await standStill();
      expect(await store.lease(key, { ttlMs: 1000 })).toBeDefined();
      await clock.pass(0);
      expect(turn.lost.reason).toMatchObject({ code: 'lease_lost' });
    });

    test('is lost when the store does not say within a heartbeat', async () => {
      const { clock, store, turn } = await standStill();
      store.fail = () => new Promise<void>(() => {});
      await clock.pass(9_999);
      expect(turn.lost.aborted).toBe(false);
      await clock.pass(1);
      expect(turn.lost.reason).toMatchObject({ code: 'lease_lost' });
    });

    test('goes on also where no timer was due long before it went on', async () => {
      const clock = new ManualClock();
      const store = new FlakyLeases({ clock });
      const turn = await takeTurn(store, key, { clock, ttlMs: 30_000 });
      store.fail = () => new Promise<void>(() => {});
      await clock.pass(10_000);
      store.fail = undefined;
      clock.standStill(20_001);
      await clock.pass(9_000);
      expect(turn.lost.aborted).toBe(false);
    });

    test('ends all the same where each timer is late and no renewal is answered', async () => {
      const clock = new ManualClock();
      const store = new FlakyLeases({ clock });
      const turn = await takeTurn(store, key, { clock, ttlMs: 30_000 });
      store.fail = () => new Promise<void>(() => {});
      for (let slices = 0; slices < 12; slices++) {
        clock.standStill(5_100);
        await clock.pass(0);
      }
      expect(turn.lost.reason).toMatchObject({ code: 'lease_lost' });
    });

    test('goes on with an answer that came meanwhile', async () => {
      const clock = new ManualClock();
      const store = new FlakyLeases({ clock });
      const turn = await takeTurn(store, key, { clock, ttlMs: 30_000 });
      let answer = () => {};
      store.fail = () =>
        new Promise<void>((resolve) => {
          answer = resolve;
        });
      await clock.pass(10_000);
      store.fail = undefined;
      clock.standStill(60_000);
      await clock.pass(0);
      answer();
      await clock.pass(300_000);
      expect(turn.lost.aborted).toBe(false);
    });
  });

  test('is had at once on a store without leases', async () => {
    const store = new InMemorySession();
    Object.defineProperty(store, 'lease', { value: undefined });
    expect((await takeTurn(store, key)).fence).toBeUndefined();
    await (await takeTurn(store, key)).release();
  });

  test('is released also when the store cannot be told', async () => {
    class Failing extends InMemorySession {
      override async lease(): Promise<SessionLease> {
        return {
          fence: 1,
          ttlMs: 1000,
          renew: async () => {},
          release: () => Promise.reject(new Error('gone')),
        };
      }
    }
    const turn = await takeTurn(new Failing(), key);
    expect(await turn.release()).toBeUndefined();
  });
});
