import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  InMemorySession,
  SessionKey,
  type SessionStore,
  SessionStoreError,
  WorkspaceError,
} from '../../src/index.js';
import {
  deleteUnlessLeased,
  heartOf,
  isSessionHeld,
  type TakeTurnOptions,
  takeTurn,
} from '../../src/internal.js';
import { operationId, type SessionLeases, wrapLeases, wrapStore } from '../../src/store.js';
import { commitAt } from '../commit-at.js';
import { ManualClock } from '../manual-clock.js';
import { takeLease } from '../take-lease.js';
import { thrownBy } from '../thrown-by.js';

const key = SessionKey.of('s');
const TTL_MS = 5_000;
const unavailable = (outcome: 'none' | 'unknown' = 'unknown', isTransient = false) =>
  new SessionStoreError('session_unavailable', 'The store is out of reach.', { outcome, isTransient });
const hang = () => new Promise<never>(() => {});
const fail = async () => {
  throw unavailable();
};

/** What lies between a process and a store. */
interface Link {
  /** What becomes of a request before it reaches the store. */
  fault: ((operation: string) => Promise<unknown>) | undefined;
  /** What becomes of the answer to an operation. */
  loses: ((operation: string) => boolean) | undefined;
  readonly sent: string[];
}

/** A process with a heart of its own, over a store that all share. */
function processOn(inner: SessionStore, leases = inner.leases as SessionLeases) {
  const link: Link = { fault: undefined, loses: undefined, sent: [] };
  const through = async <T>(operation: string, task: () => Promise<T>): Promise<T> => {
    link.sent.push(operation);
    await link.fault?.(operation);
    const answer = await task();
    if (link.loses?.(operation)) throw unavailable();
    await link.fault?.(operation);
    return answer;
  };
  const { processes } = leases;
  const store = wrapStore(inner, {
    commit: (of, change) => through('commit', () => inner.commit(of, change)),
    leases: {
      ...wrapLeases(leases, (operation, _, task) => through(operation, task)),
      processes: {
        beat: (record, notes) => through('beat', () => processes.beat(record, notes)),
        look: (id) => through('look', () => processes.look(id)),
        send: (id, note) => through('send', () => processes.send(id, note)),
        retire: (id) => through('retire', () => processes.retire(id)),
      },
    },
  });
  return { store, link };
}

/** The leases of a store whose records of processes expire by a clock, as those of a server do. */
function expiring({ leases }: InMemorySession, clock: ManualClock): SessionLeases {
  const ends = new Map<string, number>();
  return {
    ...leases,
    processes: {
      ...leases.processes,
      beat: async (record, notes) => {
        ends.set(record.id, clock.now() + record.ttlMs);
        return leases.processes.beat(record, notes);
      },
      look: async (id) => {
        const beats = await leases.processes.look(id);
        return (ends.get(id) ?? 0) > clock.now() ? beats : undefined;
      },
    },
  };
}

function setUp({ expires = false } = {}) {
  const clock = new ManualClock();
  const inner = new InMemorySession();
  const leases = expires ? expiring(inner, clock) : inner.leases;
  const [one, other] = [processOn(inner, leases), processOn(inner, leases)];
  const take = ({ store }: { readonly store: SessionStore }, options: TakeTurnOptions = {}) =>
    takeTurn(store, key, { clock, ...options });
  return { clock, inner, one, other, take };
}

describe('waiting for a turn', () => {
  test('waits in line, and gets the turn when it is given up', async () => {
    const { clock, one, other, take } = setUp();
    const first = await take(one);
    const told: string[] = [];
    const waiting = take(other, { onWait: () => told.push('It waits.') });
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
    await take(one, { onWait: () => told.push('In vain.') });
    expect(told).toHaveLength(1);
  });

  test('waits in line within one process, too', async () => {
    const { clock, one, take } = setUp();
    const first = await take(one);
    const waiting = take(one);
    await clock.pass(10_000);
    await first.release();
    await clock.pass(1000);
    expect((await waiting).fence).toBeGreaterThan(first.fence ?? 0);
  });

  test('gives up after the time-out, and says so', async () => {
    const { clock, one, other, take } = setUp();
    await take(one);
    const waiting = thrownBy(take(other, { timeoutMs: 5000 }));
    await clock.pass(4999);
    expect(await Promise.race([waiting, 'still waiting'])).toBe('still waiting');
    await clock.pass(1);
    const error = await waiting;
    expect(error).toMatchObject({ code: 'lease_unavailable', sessionKey: key.toString() });
    expect(error.message).toContain('did not end within 5000 ms');
  });

  test('fails at once when told to reject', async () => {
    const { one, other, take } = setUp();
    await take(one);
    expect(await thrownBy(take(other, { turns: 'reject' }))).toMatchObject({ code: 'lease_unavailable' });
  });

  test('does not make sessions wait for each other', async () => {
    const { clock, one, other, take } = setUp();
    await take(one);
    const free = await takeTurn(other.store, SessionKey.of('other'), { clock, turns: 'reject' });
    expect(free.fence).toBeDefined();
  });

  test('stops waiting when its signal is aborted', async () => {
    const { clock, one, other, take } = setUp();
    await take(one);
    const abort = new AbortController();
    const waiting = thrownBy(take(other, { signal: abort.signal }));
    await clock.pass(100);
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await waiting).toBe(reason);
  });

  test('fails where the store does not answer', async () => {
    const { one, take } = setUp();
    one.link.fault = fail;
    expect(await thrownBy(take(one))).toMatchObject({ code: 'session_unavailable' });
  });

  test('keeps its place in line while the store does not answer', async () => {
    const { clock, one, other, take } = setUp();
    const first = await take(one);
    const waiting = take(other, { timeoutMs: 60_000 });
    const late = thrownBy(take(other, { timeoutMs: 20_000 }));
    await clock.pass(1_000);
    other.link.fault = fail;
    await clock.pass(30_000);
    expect(await late).toMatchObject({ code: 'session_unavailable' });
    other.link.fault = undefined;
    await first.release();
    await clock.pass(2_000);
    expect((await waiting).fence).toBeGreaterThan(first.fence ?? 0);
  });

  test('is over at once on a store without leases', async () => {
    const { leases: _, ...bare } = wrapStore(new InMemorySession(), {});
    const turn = await takeTurn(bare, key);
    expect(turn.fence).toBeUndefined();
    await turn.certain();
    expect(turn.guard(bare)).toBe(bare);
    await turn.release();
  });
});

describe('what a turn costs', () => {
  test('is one write when it is taken and one when it is released, and a beat a second for all turns', async () => {
    const { clock, one } = setUp();
    const keys = Array.from({ length: 20 }, (_, index) => SessionKey.of(`s-${index}`));
    const turns = await Promise.all(keys.map((each) => takeTurn(one.store, each, { clock })));
    expect(one.link.sent.filter((operation) => operation !== 'beat')).toEqual(keys.map(() => 'take'));
    one.link.sent.length = 0;
    await clock.pass(600_000);
    expect(new Set(one.link.sent)).toEqual(new Set(['beat']));
    expect(one.link.sent).toHaveLength(600);
    for (const turn of turns) expect(turn.lost.aborted).toBe(false);
    one.link.sent.length = 0;
    await Promise.all(turns.map((turn) => turn.release()));
    expect(one.link.sent).toEqual(keys.map(() => 'release'));
  });

  test('is nothing once the process has rested, whose next turn is its own', async () => {
    const { clock, one, take } = setUp();
    await (await take(one)).release();
    await clock.pass(60_000);
    expect(one.link.sent.at(-1)).toBe('retire');
    one.link.sent.length = 0;
    await clock.pass(600_000);
    expect(one.link.sent).toEqual([]);
    const turn = await take(one);
    await clock.pass(60_000);
    await turn.certain();
    expect(turn.lost.aborted).toBe(false);
  });
});

describe.each([
  ['by a clock of its own', true],
  ['never', false],
])('a store that forgets processes %s', (_, expires) => {
  test('gives the turn of a process that died to another within 6 s, and the dead one learns of it', async () => {
    const { clock, inner, one, other, take } = setUp({ expires });
    const dead = await take(one);
    await clock.pass(999);
    const waiting = take(other);
    await clock.pass(0);
    one.link.fault = hang;
    await clock.pass(TTL_MS - 1_000);
    expect(await Promise.race([waiting, 'still waiting'])).toBe('still waiting');
    await clock.pass(2_000);
    expect((await waiting).fence).toBeGreaterThan(dead.fence ?? 0);
    const change = { expectedVersion: 0, head: {}, keep: 0, append: [] } as const;
    expect(await thrownBy(commitAt(inner, key, { ...change, fence: dead.fence }))).toMatchObject({
      code: 'lease_lost',
    });
    expect(dead.lost.aborted).toBe(false);
    one.link.fault = undefined;
    await clock.pass(TTL_MS + 1_000);
    expect(dead.lost.reason).toMatchObject({ code: 'lease_lost', sessionKey: `${key}` });
    expect(dead.lost.reason.message).toContain('the process lost its turn to another one (process ');
    expect(await thrownBy(dead.certain())).toBe(dead.lost.reason);
  });

  test('gives no turn away after a pause in which nobody could beat', async () => {
    const { clock, one, other, take } = setUp({ expires });
    const turn = await take(one);
    const waiting = take(other, { timeoutMs: 600_000 });
    await clock.pass(10_000);
    for (const { link } of [one, other]) {
      const release: (() => void)[] = [];
      // All that was sent meanwhile is done when the store continues.
      link.fault = () => new Promise((resolve) => release.push(resolve as () => void));
      Object.assign(link, { goOn: () => release.splice(0).map((each) => each()) });
    }
    await clock.pass(20_000);
    // The one who waits is first.
    for (const { link } of [other, one]) {
      link.fault = undefined;
      (link as unknown as { goOn(): void }).goOn();
      await clock.pass(10);
    }
    await clock.pass(60_000);
    expect(await Promise.race([waiting, 'still waiting'])).toBe('still waiting');
    await turn.certain();
    expect(turn.lost.aborted).toBe(false);
    await turn.release();
    await clock.pass(1_000);
    expect((await waiting).fence).toBeGreaterThan(turn.fence ?? 0);
  });

  test('keeps the turn of a process that is silent, or stands still, and that nobody wants', async () => {
    for (const fault of [fail, hang]) {
      const { clock, one, take } = setUp({ expires });
      const told: boolean[] = [];
      const turn = await take(one, { onUncertain: (isOver) => told.push(isOver) });
      await clock.pass(2_000);
      one.link.fault = fault;
      await clock.pass(3_000);
      expect(told).toEqual([]);
      let isCertain = false;
      await clock.pass(20_000);
      expect(told).toEqual([false]);
      void turn.certain().then(() => {
        isCertain = true;
      });
      await clock.pass(10_000);
      expect(isCertain).toBe(false);
      one.link.fault = undefined;
      await clock.pass(TTL_MS + 1_000);
      expect([isCertain, turn.lost.aborted, told]).toEqual([true, false, [false, true]]);
      clock.standStill(3_600_000);
      await turn.certain();
      expect([turn.lost.aborted, told]).toEqual([false, [false, true]]);
    }
  });

  test('lets others be certain alone as long as nobody can have taken the turn', async () => {
    const event = fc.constantFrom('pause', 'fail', 'recover', 'still');
    const steps = fc.array(fc.tuple(event, fc.integer({ min: 0, max: 9_000 })), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (events) => {
        const { clock, one, other, take } = setUp({ expires });
        const turn = await take(one);
        let taken = false;
        const waiting = take(other, { timeoutMs: 10 ** 9 }).then((next) => {
          taken = true;
          return next;
        });
        const abort = new AbortController();
        abort.abort(new Error('not certain'));
        for (const [event, ms] of events) {
          if (event === 'still') clock.standStill(ms);
          else one.link.fault = { pause: hang, fail, recover: undefined }[event];
          await clock.pass(ms);
          const isCertain = await turn.certain(abort.signal).then(
            () => true,
            () => false,
          );
          if (isCertain) expect(taken).toBe(false);
          if (turn.lost.aborted) expect(taken).toBe(true);
        }
        one.link.fault = undefined;
        await clock.pass(10_000);
        expect(turn.lost.aborted).toBe(taken);
        await turn.release();
        await clock.pass(10_000);
        expect((await waiting).fence).toBeGreaterThan(turn.fence ?? 0);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a turn', () => {
  test('is released with a later beat when the store did not hear of it', async () => {
    const { clock, one, other, take } = setUp();
    const busy = await takeTurn(one.store, SessionKey.of('busy'), { clock });
    const turn = await take(one);
    one.link.fault = fail;
    await turn.release();
    one.link.fault = undefined;
    await clock.pass(1_000);
    expect((await take(other, { turns: 'reject' })).fence).toBeGreaterThan(turn.fence ?? 0);
    await busy.certain();
  });

  test('whose grant was lost is released, and this process may take it at once', async () => {
    const { clock, one, other, take } = setUp();
    one.link.loses = (operation) => operation === 'take';
    one.link.fault = (operation) => (operation === 'release' ? fail() : Promise.resolve());
    expect(await thrownBy(take(one))).toMatchObject({ code: 'session_unavailable' });
    expect(await thrownBy(take(other, { turns: 'reject' }))).toMatchObject({ code: 'lease_unavailable' });
    one.link.loses = undefined;
    one.link.fault = undefined;
    const again = await take(one, { turns: 'reject' });
    await again.release();
    await clock.pass(1_000);
    await (await take(other, { turns: 'reject' })).release();
  });

  test('waits to be certain for no longer than outageMs, or its signal', async () => {
    const { clock, one, take } = setUp();
    const turn = await take(one, { outageMs: 60_000 });
    one.link.fault = hang;
    await clock.pass(10_000);
    const abort = new AbortController();
    const reason = new Error('enough');
    const [waiting, aborted] = [thrownBy(turn.certain()), thrownBy(turn.certain(abort.signal))];
    abort.abort(reason);
    expect(await aborted).toBe(reason);
    await clock.pass(60_000);
    expect(await waiting).toMatchObject({ code: 'session_unavailable', outcome: 'none' });
  });

  test('tells who holds a session, and deletes none that a living process holds', async () => {
    const { clock, inner, one, other, take } = setUp();
    await commitAt(inner, key, { expectedVersion: 0, head: {}, keep: 0, append: [] });
    const turn = await take(one);
    await takeTurn(other.store, SessionKey.of('another'), { clock });
    const deletion = deleteUnlessLeased(other.store, key);
    await clock.pass(2_000);
    expect(await deletion).toBe('busy');
    expect(await isSessionHeld(other.store, key)).toBe(true);
    one.link.fault = hang;
    await clock.pass(6_000);
    const second = deleteUnlessLeased(other.store, key);
    await clock.pass(12_000);
    expect(await second).toBe('deleted');
    expect(await isSessionHeld(other.store, key)).toBe(false);
    expect(await deleteUnlessLeased(other.store, key)).toBe('missing');
    one.link.fault = undefined;
    await turn.release();
  });
});

describe('commits within a turn', () => {
  const change = () => ({ operation: operationId(), expected: undefined, head: {}, keep: 0, append: [] });

  test('are repeated while the store does not answer, and made once', async () => {
    const { clock, inner, one, take } = setUp();
    const turn = await take(one);
    const guarded = turn.guard(one.store);
    let lost = 3;
    one.link.loses = (operation) => operation === 'commit' && lost-- > 0;
    const commit = guarded.commit(key, { ...change(), fence: turn.fence });
    await clock.pass(10_000);
    expect(await commit).toBe(1);
    expect(one.link.sent.filter((operation) => operation === 'commit')).toHaveLength(4);
    expect((await inner.load(key))?.version).toBe(1);
  });

  test('are repeated while the store rejects them for the moment', async () => {
    const { clock, one, take } = setUp();
    const turn = await take(one);
    one.link.fault = async () => {
      throw unavailable('none', true);
    };
    const commit = turn.guard(one.store).commit(key, { ...change(), fence: turn.fence });
    await clock.pass(3_000);
    one.link.fault = undefined;
    await clock.pass(1_000);
    expect(await commit).toBe(1);
  });

  test('fail after outageMs, when their signal fires, and when the store refuses', async () => {
    const { clock, one, take } = setUp();
    const turn = await take(one, { outageMs: 30_000 });
    one.link.fault = fail;
    const late = thrownBy(turn.guard(one.store).commit(key, change()));
    await clock.pass(29_000);
    expect(await Promise.race([late, 'still trying'])).toBe('still trying');
    await clock.pass(2_000);
    expect(await late).toMatchObject({ code: 'session_unavailable' });
    const abort = new AbortController();
    const aborted = thrownBy(turn.guard(one.store, abort.signal).commit(key, change()));
    await clock.pass(5_000);
    abort.abort();
    expect(await aborted).toMatchObject({ code: 'session_unavailable' });
    one.link.fault = async () => {
      throw unavailable('none');
    };
    expect(await thrownBy(turn.guard(one.store).commit(key, change()))).toMatchObject({ outcome: 'none' });
  });

  test('go on where the store has forgotten the lease, and end where the session was deleted', async () => {
    const clock = new ManualClock();
    const inner = new InMemorySession();
    // Writes the lease down again, as a store does that a failover may set back.
    let forgotten: number | undefined;
    const confirm: SessionLeases['confirm'] = async (_, __, fence) => {
      forgotten = undefined;
      return fence > 0;
    };
    const { store } = processOn(inner, { ...inner.leases, confirm });
    const forgetful = wrapStore(store, {
      commit: (of, given) =>
        store.commit(of, { ...given, fence: given.fence === forgotten ? -1 : undefined }),
    });
    const turn = await takeTurn(store, key, { clock });
    forgotten = turn.fence;
    const first = { ...change(), fence: turn.fence };
    const commit = turn.guard(forgetful).commit(key, first);
    await clock.pass(1_000);
    expect(await commit).toBe(1);
    await inner.delete(key);
    forgotten = turn.fence;
    const next = { ...change(), expected: first.operation, fence: turn.fence };
    const refused = thrownBy(turn.guard(forgetful).commit(key, next));
    await clock.pass(1_000);
    expect(await refused).toMatchObject({ code: 'session_deleted' });
  });

  test('end with session_deleted where the session was deleted, and its lease with it', async () => {
    const { clock, inner, one, take } = setUp();
    const turn = await take(one);
    const guarded = turn.guard(one.store);
    const first = { ...change(), fence: turn.fence };
    await guarded.commit(key, first);
    await inner.delete(key);
    const next = { ...change(), expected: first.operation, fence: turn.fence };
    const refused = thrownBy(guarded.commit(key, next));
    await clock.pass(1_000);
    expect(await refused).toMatchObject({ code: 'session_deleted', sessionKey: key.toString() });
    expect(turn.lost.reason).toMatchObject({ code: 'session_deleted' });
  });
});

test('a process that was silent is told which notes came meanwhile', async () => {
  const { clock, inner, one, take } = setUp();
  const turn = await take(one);
  const heart = heartOf((one.store.leases as SessionLeases).processes, clock);
  const heard: [string, boolean][] = [];
  const stop = await heart.listen(({ text }, isLate) => void heard.push([text, isLate]));
  const send = (text: string) => inner.leases.processes.send(heart.id, { id: operationId(), text });
  await send('in time');
  await clock.pass(1_000);
  await send('late');
  clock.standStill(2 * TTL_MS);
  await clock.pass(1_000);
  await send('in time again');
  await clock.pass(1_000);
  expect(heard).toEqual([
    ['in time', false],
    ['late', true],
    ['in time again', false],
  ]);
  stop();
  await turn.release();
});

describe('what is written beside the store', () => {
  const never = new AbortController().signal;

  test('waits for certainty, and is written again if it failed in a silence', async () => {
    const { clock, one, take } = setUp();
    const turn = await take(one);
    const written: string[] = [];
    one.link.fault = fail;
    const writing = turn.persist(async () => {
      written.push(one.link.fault === undefined ? 'heard' : 'unheard');
      if (one.link.fault === undefined) return 'done';
      // What nobody answers fails later than the turn is certain.
      await clock.sleep(2 * TTL_MS);
      throw unavailable();
    }, never);
    await clock.pass(5 * TTL_MS);
    expect(written).toEqual(['unheard']);
    one.link.fault = undefined;
    await clock.pass(1_000);
    expect(await writing).toBe('done');
    expect(written).toEqual(['unheard', 'heard']);
    await turn.release();
  });

  test('is written again if it began before a silence and failed after it', async () => {
    const { clock, one, take } = setUp();
    const turn = await take(one);
    let times = 0;
    const writing = turn.persist(async () => {
      if (++times > 1) return 'done';
      await clock.sleep(4 * TTL_MS);
      throw unavailable();
    }, never);
    one.link.fault = fail;
    await clock.pass(2 * TTL_MS);
    one.link.fault = undefined;
    await clock.pass(3 * TTL_MS);
    expect(await writing).toBe('done');
    await turn.release();
  });

  test('is repeated after a transient failure, for outageMs', async () => {
    const { clock, one, take } = setUp();
    const turn = await take(one, { outageMs: 30_000 });
    let isDown = true;
    const write = async () => {
      if (isDown)
        throw new WorkspaceError('workspace_io', 'log', 'The server restarts.', { isTransient: true });
      return 'done';
    };
    const writing = turn.persist(write, never);
    await clock.pass(3_000);
    isDown = false;
    await clock.pass(1_000);
    expect(await writing).toBe('done');
    isDown = true;
    const late = thrownBy(turn.persist(write, never));
    await clock.pass(31_000);
    expect(await late).toMatchObject({ code: 'workspace_io' });
    const full = new WorkspaceError('workspace_io', 'log', 'The disk is full.');
    const errors = [new WorkspaceError('workspace_io', 'log', 'It restarts.', { isTransient: true }), full];
    const refused = thrownBy(turn.persist(() => Promise.reject(errors.shift()), never));
    await clock.pass(1_000);
    expect(await refused).toBe(full);
    await turn.release();
  });

  test('fails as it fails while the store answers, and once only where nobody waits', async () => {
    const { clock, one, take } = setUp();
    const turn = await take(one);
    let times = 0;
    const full = async () => {
      times++;
      throw new Error('The disk is full.');
    };
    expect(await thrownBy(turn.persist(full, never))).toMatchObject({ message: 'The disk is full.' });
    one.link.fault = fail;
    await clock.pass(2 * TTL_MS);
    expect(await thrownBy(turn.persist(full, AbortSignal.abort()))).toMatchObject({
      message: 'The disk is full.',
    });
    expect(times).toBe(2);
    await turn.release();
  });

  test('is not written once another process has the turn', async () => {
    const { clock, inner, one, take } = setUp();
    const turn = await take(one);
    one.link.fault = fail;
    await clock.pass(2 * TTL_MS);
    let isWritten = false;
    const writing = thrownBy(
      turn.persist(async () => {
        isWritten = true;
      }, never),
    );
    await takeLease(inner, key, { over: turn.fence });
    one.link.fault = undefined;
    await clock.pass(1_000);
    expect(await writing).toBe(turn.lost.reason);
    expect(isWritten).toBe(false);
  });
});
