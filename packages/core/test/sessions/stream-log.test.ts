import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { InMemorySession, ModelError, SessionKey, SessionStoreError, StreamLog } from '../../src/index.js';
import { JsonSession } from '../../src/node.js';
import { wrapStore } from '../../src/store.js';

const directory = mkdtempSync(join(tmpdir(), 'x-stream-log-'));
afterAll(() => rm(directory, { recursive: true, force: true }));

const key = SessionKey.of({ userId: 'alice', agentId: 'events', sessionId: 's-1' });
const numbered = (count: number) => Array.from({ length: count }, (_, index) => ({ seq: index + 1 }));

async function* of<Item>(items: readonly Item[], hold?: Promise<unknown>): AsyncGenerator<Item> {
  yield* items;
  await hold;
}

async function drain<Item>(items: AsyncIterable<Item> | undefined): Promise<readonly Item[]> {
  const read: Item[] = [];
  for await (const item of items ?? []) read.push(item);
  return read;
}

describe('a log of a stream', () => {
  it('is read on from a cursor by another process, also when its first reader left', async () => {
    let release = () => {};
    const hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    const open = () => new StreamLog(new JsonSession({ directory }), key, { pollMs: 1 });
    const passing = await open().record(of(numbered(50), hold));
    expect((await passing.next()).value).toEqual({ seq: 1 });
    await passing.return();
    const other = await open().resume<{ readonly seq: number }>(20);
    expect((await other?.next())?.value).toEqual({ seq: 21 });
    release();
    expect(await drain(other)).toEqual(numbered(50).slice(21));
    expect(await open().resume()).toBeUndefined();
  });

  it('reads on after an outage, unless it lasts too long', async () => {
    const sessions = new InMemorySession();
    const place = SessionKey.of({ sessionId: 'read-in-an-outage' });
    let failing = 0;
    const store = wrapStore(sessions, (inner) => ({
      load: async (at, options) => {
        if (failing-- <= 0) return inner.load(at, options);
        throw new SessionStoreError('session_unavailable', 'No reply.', { outcome: 'unknown' });
      },
    }));
    let release = () => {};
    const end = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* source() {
      yield* numbered(3);
      await end;
      yield* numbered(3);
    }
    const passing = await new StreamLog(sessions, place).record(source());
    for (let item = 0; item < 3; item++) await passing.next();
    const reader = await new StreamLog(store, place, { pollMs: 1 }).resume();
    const late = await new StreamLog(store, place, { pollMs: 1, stallMs: 1 }).resume();
    failing = 10;
    const read = drain(reader);
    while (failing > 0) await new Promise(setImmediate);
    release();
    await drain(passing);
    expect(await read).toEqual([...numbered(3), ...numbered(3)]);
    failing = Number.POSITIVE_INFINITY;
    await expect(drain(late)).rejects.toMatchObject({ code: 'stream_stalled' });
  });

  it.each(['applied', 'unsent', 'full'])('is whole after a time in which commits fail: %s', async (state) => {
    const [applied, isFull] = [state === 'applied', state === 'full'];
    const sessions = new InMemorySession();
    const place = SessionKey.of({ sessionId: `outage-${state}` });
    let commits = 0;
    const store = wrapStore(sessions, (inner) => ({
      commit: async (at, change) => {
        const isDown = ++commits > 3 && commits < (isFull ? 6 : 9);
        if (!isDown) return inner.commit(at, change);
        if (applied) await inner.commit(at, change);
        const outcome = isFull ? 'none' : 'unknown';
        throw new SessionStoreError('session_unavailable', 'No reply, or no space.', { outcome });
      },
    }));
    async function* slow() {
      for (const item of numbered(30)) {
        await new Promise(setImmediate);
        yield item;
      }
    }
    let release = () => {};
    const end = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* source() {
      yield* slow();
      await end;
    }
    const passing = await new StreamLog(store, place, { pollMs: 1 }).record(source());
    for (let item = 0; item < 30; item++) await passing.next();
    const reader = await new StreamLog(sessions, place, { pollMs: 1 }).resume();
    const read = drain(reader);
    release();
    await drain(passing);
    expect(await read).toEqual(numbered(30));
    expect(commits).toBeGreaterThan(isFull ? 5 : 8);
  });

  it('is whole if its source ended while commits failed', async () => {
    const sessions = new InMemorySession();
    const place = SessionKey.of({ sessionId: 'ended-in-an-outage' });
    let isDown = false;
    const store = wrapStore(sessions, (inner) => ({
      commit: (at, change) => {
        if (!isDown) return inner.commit(at, change);
        throw new SessionStoreError('session_unavailable', 'No reply.', { outcome: 'unknown' });
      },
    }));
    const passing = await new StreamLog(store, place).record(of(numbered(30)));
    const reader = await new StreamLog(sessions, place, { pollMs: 1 }).resume();
    isDown = true;
    expect(await drain(passing)).toEqual(numbered(30));
    isDown = false;
    expect(await drain(reader)).toEqual(numbered(30));
  });

  it('keeps nothing more of a stream once another one took its place', async () => {
    const sessions = new InMemorySession();
    const place = SessionKey.of({ sessionId: 'displaced' });
    const open = () => new StreamLog(store, place, { pollMs: 1 });
    const gate = () => {
      let release = () => {};
      const opened = new Promise<void>((resolve) => {
        release = resolve;
      });
      return { opened, release };
    };
    const [begin, goOn, end] = [gate(), gate(), gate()];
    let loads = 0;
    const store = wrapStore(sessions, (inner) => ({
      load: (...asked) => {
        loads++;
        return inner.load(...asked);
      },
    }));
    const displaced = await open().record(
      (async function* () {
        await begin.opened;
        yield { old: 1 };
        await goOn.opened;
        yield { old: 2 };
      })(),
    );
    const next = await open().record(of([{ next: 1 }], end.opened));
    await next.next();
    const before = loads;
    // Its write meets the other stream; the writes behind that one know where the other stream ends.
    begin.release();
    expect((await displaced.next()).value).toEqual({ old: 1 });
    await expect.poll(() => loads).toBeGreaterThan(before);
    goOn.release();
    expect(await drain(displaced)).toEqual([{ old: 2 }]);
    expect(JSON.stringify((await sessions.collection('streams').load(place))?.messages)).not.toContain('old');
    end.release();
    await drain(next);
  });

  it('gives reader and log the same, at any cursor', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 30 }), fc.nat({ max: 35 }), async (count, cursor) => {
        const log = new StreamLog(new InMemorySession(), key, { pollMs: 1 });
        let release = () => {};
        const hold = new Promise<void>((resolve) => {
          release = resolve;
        });
        const passing = await log.record(of(numbered(count), hold));
        const following = log.resume(cursor);
        const other = await following;
        release();
        expect(await drain(passing)).toEqual(numbered(count));
        expect(await drain(other)).toEqual(numbered(count).slice(cursor));
      }),
      { numRuns: 30 },
    );
  });

  it('passes the error of its source on, and keeps of errors what a client may read', async () => {
    const log = new StreamLog(new InMemorySession(), key, { pollMs: 1 });
    async function* failing() {
      yield { type: 'call.failed', error: new ModelError('overloaded', { retryable: true }) };
      throw new Error('broken');
    }
    const passing = await log.record(failing());
    const other = await log.resume();
    await expect(drain(passing)).rejects.toThrow('broken');
    const message = 'The model is not available at the moment. Try again later.';
    const item = { code: 'model_error', message };
    expect((await other?.next())?.value).toEqual({ type: 'call.failed', error: item });
    // Who came back is told, too.
    await expect(drain(other)).rejects.toMatchObject({
      code: 'stream_failed',
      cause: { code: 'internal', message: 'An error occurred.' },
    });
  });

  it('goes on behind items that JSON cannot hold', async () => {
    const log = new StreamLog(new InMemorySession(), key, { pollMs: 1 });
    const loop = { loop: {} };
    loop.loop = loop;
    const items = [{ total: 1n }, loop, { seq: 3 }];
    const passing = await log.record(of(items));
    const kept = await log.resume();
    expect(await drain(passing)).toEqual(items);
    expect(await drain(kept)).toEqual([
      { total: '1' },
      { code: 'internal', message: 'This event cannot be sent.' },
      { seq: 3 },
    ]);
  });

  it('reads what is new, however long the stream is', async () => {
    const read: number[] = [];
    const store = wrapStore(new InMemorySession(), (inner) => ({
      load: async (...asked) => {
        const loaded = await inner.load(...asked);
        read.push(loaded?.messages.length ?? 0);
        return loaded;
      },
    }));
    let goOn = () => {};
    async function* oneByOne() {
      for (const item of numbered(120)) {
        yield item;
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
      }
    }
    const log = new StreamLog(store, key, { pollMs: 1 });
    const passing = await log.record(oneByOne());
    await passing.next();
    const other = await log.resume<{ readonly seq: number }>();
    for (let seq = 1; seq <= 100; seq++) {
      expect((await other?.next())?.value).toEqual({ seq });
      goOn();
    }
    // One who comes with a cursor reads no more than that needs.
    expect((await (await log.resume(95))?.next())?.value).toEqual({ seq: 96 });
    expect(Math.max(...read)).toBe(16);
    for (let seq = 101; seq <= 120; seq++) {
      await other?.next();
      goOn();
    }
  });

  it('ends a reader whose writer died: at once where it did so long ago', async () => {
    const store = new InMemorySession();
    const dead = new StreamLog(store, key, { stallMs: 1_000_000 });
    await dead.record(of(numbered(1), new Promise(() => {})));
    const other = await new StreamLog(store, key, { pollMs: 1, stallMs: 20 }).resume();
    await expect(drain(other)).rejects.toMatchObject({ code: 'stream_stalled' });
    let loads = 0;
    const aged = wrapStore(store, (inner) => ({
      load: async (...asked) => {
        loads += 1;
        const loaded = await inner.load(...asked);
        return loaded && { ...loaded, updatedAt: new Date(Date.now() - 120_000).toISOString() };
      },
    }));
    const later = await new StreamLog(aged, key).resume();
    await expect(drain(later)).rejects.toMatchObject({ code: 'stream_stalled' });
    expect(loads).toBe(1);
  });

  it('is read on by a reader whose clock is set an hour ahead', async () => {
    const { now } = Date;
    onTestFinished(() => {
      Date.now = now;
    });
    const log = new StreamLog(new InMemorySession(), key, { pollMs: 1 });
    let goOn = () => {};
    const hold = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await log.record(of(numbered(1), hold));
    const reader = await log.resume();
    await reader?.next();
    Date.now = () => now() + 3_600_000;
    const rest = drain(reader);
    await new Promise((resolve) => setTimeout(resolve, 20));
    goOn();
    expect(await rest).toEqual([]);
  });
});
