import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TimeLimitError } from '../../src/index.js';
import { Deadline, startTimer, unlessAborted, withinLimit } from '../../src/internal.js';

const never = new Promise<never>(() => {});

describe('unlessAborted', () => {
  test('gives what the work gives', async () => {
    expect(await unlessAborted(Promise.resolve(1), undefined)).toBe(1);
    expect(await unlessAborted(Promise.resolve(2), new AbortController().signal)).toBe(2);
    await expect(
      unlessAborted(Promise.reject(new Error('no')), new AbortController().signal),
    ).rejects.toThrow('no');
  });

  test('does not wait for work that does not heed the signal', async () => {
    const reason = new Error('enough');
    await expect(unlessAborted(never, AbortSignal.abort(reason))).rejects.toBe(reason);
    const stop = new AbortController();
    const waiting = unlessAborted(never, stop.signal);
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  test('ignores what the work comes to later', async () => {
    const stop = new AbortController();
    let fail = (_: Error) => {};
    const work = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const waiting = unlessAborted(work, stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    // An unhandled rejection would fail the run.
    fail(new Error('too late'));
    await new Promise(setImmediate);
    expect(stop.signal.aborted).toBe(true);
  });
});

describe('Deadline', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each([0, Number.POSITIVE_INFINITY])('%d is no limit', async (ms) => {
    const expire = vi.fn();
    startTimer(ms, expire);
    await vi.advanceTimersByTimeAsync(2 ** 32);
    expect(expire).not.toHaveBeenCalled();
  });

  test('holds what setTimeout does not: 30 days', async () => {
    const expire = vi.fn();
    const days = 30 * 24 * 3_600_000;
    startTimer(days, expire);
    await vi.advanceTimersByTimeAsync(days - 1);
    expect(expire).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(expire).toHaveBeenCalledOnce();
    startTimer(days, expire)();
    await vi.advanceTimersByTimeAsync(days);
    expect(expire).toHaveBeenCalledOnce();
  });

  test('names the limit that ran out, each started anew by itself', async () => {
    const deadline = new Deadline();
    deadline.start('The model', 'idleMs', 100);
    deadline.start('The model', 'totalMs', 1_000);
    for (let round = 0; round < 9; round++) {
      await vi.advanceTimersByTimeAsync(99);
      deadline.start('The model', 'idleMs', 100);
    }
    expect(deadline.signal.aborted).toBe(false);
    deadline.pause('idleMs');
    const waiting = expect(deadline.race(never)).rejects.toMatchObject({
      code: 'timed_out',
      limit: 'totalMs',
      message: expect.stringContaining('The model timed out after 1000 ms'),
    });
    await vi.advanceTimersByTimeAsync(200);
    await waiting;
  });

  test('follows its parent until it is stopped', async () => {
    const [parent, reason] = [new AbortController(), new Error('enough')];
    const [followed, stopped] = [new Deadline(parent.signal), new Deadline(parent.signal)];
    stopped.start('It', 'ms', 10);
    stopped.stop();
    parent.abort(reason);
    await vi.advanceTimersByTimeAsync(10);
    expect(followed.signal.reason).toBe(reason);
    expect(stopped.signal.aborted).toBe(false);
    expect(new Deadline(parent.signal).signal.reason).toBe(reason);
  });

  test('listens to its parent once, however many waits there are', async () => {
    const parent = new AbortController();
    const waits = Array.from({ length: 50 }, () => new Deadline(parent.signal));
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(1);
    waits[0]?.stop();
    parent.abort();
    expect(waits.filter(({ signal }) => signal.aborted)).toHaveLength(49);
  });

  test('leaves work the time to end by itself that it is granted', async () => {
    const end = vi.fn();
    const waiting = withinLimit(['It', 'ms', 10], () => never);
    const expired = expect(waiting).rejects.toBeInstanceOf(TimeLimitError);
    const graceful = unlessAborted(never, AbortSignal.abort(new Error('enough')), 50).catch(end);
    await vi.advanceTimersByTimeAsync(49);
    expect(end).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all([expired, graceful]);
    expect(end).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });
});
