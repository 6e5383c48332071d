import { Script } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { TimeLimitError } from '../../src/lib/deadline.js';
import { runTimed } from '../../src/lib/run-timed.js';

it('counts the time that a task computes, and not the time that it waits for the processor', () => {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const asleep = () => Atomics.wait(cell, 0, 0, 400);
  expect(runTimed(100, asleep)).toBe('timed-out');
});

it('ends a task that computes for too long', () => {
  const endless = () => /^(?:a+)+$/.test(`${'a'.repeat(60)}b`);
  expect(() => runTimed(50, endless)).toThrow(TimeLimitError);
});

it.each([
  [
    [0.8, 1],
    [100, 125],
  ],
  [
    [0.05, 0.04, 1],
    [100, 1000, 2500],
  ],
  [
    [0, 1],
    [100, 1000],
  ],
])(
  'asks for little more than its limit in the last attempt, with these shares of the processor: %j',
  (shares, expected) => {
    const timeouts: number[] = [];
    const left = [...shares];
    const run = vi.spyOn(Script.prototype, 'runInContext').mockImplementation((_, options) => {
      timeouts.push((options as { timeout: number }).timeout);
      throw Object.assign(new Error('too long'), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' });
    });
    const usage = vi.spyOn(process, 'cpuUsage').mockImplementation((before) => {
      const share = before ? (left.shift() ?? 1) : 0;
      return { user: share * Number(timeouts.at(-1)) * 1_000, system: 0 };
    });
    try {
      expect(() => runTimed(100, () => {})).toThrow(TimeLimitError);
    } finally {
      run.mockRestore();
      usage.mockRestore();
    }
    expect(timeouts).toEqual(expected);
  },
);
