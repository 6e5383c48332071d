import { toolResultBlock } from '@x/core/messages';
import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../src/conversation/tool-calls.js';
import { lines } from '../build.js';

const outcome = (output: string, { name = 'execute', isError = false } = {}) =>
  outcomeOf(toolResultBlock({ id: 'c', name }, output, isError));
const long = lines(400);

describe('outcomeOf', () => {
  it.each<[string, (code: number) => string]>([
    ['the shell of the harness', (code) => `exit ${code}\n${long}`],
    [
      'Codex',
      (code) => `Chunk ID: 3f2a\nWall time: 0.1 seconds\nProcess exited with code ${code}\nOutput:\n${long}`,
    ],
    ['Claude Code', (code) => `Exit code ${code}\n${long}`],
    ['OpenHands', (code) => `${long}\n[Command finished with exit code ${code}]`],
    ['pi', (code) => `${long}\n\nCommand exited with code ${code}`],
    ['Go', (code) => `${long}\nFAIL\nexit status ${code}`],
    ['npm', (code) => `${long}\nerror: script "lint" exited with code ${code}`],
  ])('finds the exit code of a command, as of %s', (_, output) => {
    expect(outcome(output(1))).toEqual({ failed: true, exitCode: 1 });
    expect(outcome(output(0))).toEqual({ failed: false, exitCode: 0 });
  });

  it.each(['timed out after 60000 ms and was killed', 'killed by SIGSEGV', 'was interrupted and killed'])(
    'knows a command that did not end by itself: %s',
    (status) => {
      expect(outcome(`${status}\n${long}`)).toEqual({ failed: true });
      expect(outcome(`exit 0\n${status}`).failed).toBe(false);
      expect(outcome(`${status}\nexit 0\n${long}`).failed).toBe(true);
    },
  );

  it('believes what stands in front before what the command printed', () => {
    expect(outcome('exit 0\n{"isError": true}').failed).toBe(false);
    expect(outcome('exit 0\nset -e\ntest -f x || exit 3\nexit 1').failed).toBe(false);
  });

  it('takes no text that was read for the end of a command', () => {
    expect(outcome('#!/bin/sh\nexit 1\n', { name: 'read_file' })).toEqual({ failed: false });
    expect(outcome('test -f x || exit 3').failed).toBe(false);
    expect(outcome(`1. Exit 12 is on the left\n${long}`).failed).toBe(false);
  });

  it('heeds what the tool says of itself', () => {
    expect(outcome('no such file', { name: 'read_file', isError: true })).toEqual({ failed: true });
    expect(outcome('exit 0', { isError: true })).toEqual({ failed: true, exitCode: 0 });
  });
});
