import { describe, expect, test } from 'vitest';
import { unlessAborted } from '../../src/index.js';

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
