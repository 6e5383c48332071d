import { expect, it } from 'vitest';
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
