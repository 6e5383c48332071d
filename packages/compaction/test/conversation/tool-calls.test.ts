import type { JsonObject } from '@x/core';
import { withEnd } from '@x/core/internal';
import { toolResultBlock } from '@x/core/messages';
import { describe, expect, it } from 'vitest';
import { outcomeOf, readsByName } from '../../src/conversation/tool-calls.js';
import { lines } from '../build.js';

const outcome = (output: string, { isError = false, input = { command: 'make' } as JsonObject } = {}) =>
  outcomeOf(toolResultBlock({ id: 'c', name: 'execute' }, output, isError), { input });
const long = lines(400);

describe('readsByName', () => {
  it.each([
    'read_file',
    'Read',
    'Grep',
    'LS',
    'WebFetch',
    'list_directory',
    'readManyFiles',
    'codebase_search',
    'get_order_details',
  ])('knows a tool that only reads: %s', (name) => {
    expect(readsByName(name)).toBe(true);
  });

  it.each([
    ...['fetch_and_book', 'getOrPay', 'view_then_submit', 'search_and_send', 'list_and_archive'],
    ...['open_account', 'open_ticket', 'find_replace', 'write_file', 'NotebookEdit', 'thread', '', '_'],
    ...['manage_todo_list', 'SetTodoList'],
  ])('takes a tool that may do more for one that acts: %s', (name) => {
    expect(readsByName(name)).toBe(false);
  });
});

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

  it.each(['timed out after 60000 ms and was killed', 'killed by SIGSEGV', 'stopped by the user after 3 s'])(
    'knows a command that did not end by itself: %s',
    (status) => {
      expect(outcome(`${status}\n${long}`)).toEqual({ failed: true });
      expect(outcome(`exit 0\n${status}`).failed).toBe(false);
      expect(outcome(`${status}\nexit 0\n${long}`).failed).toBe(true);
    },
  );

  it('believes what stands in front before what the command printed', () => {
    expect(outcome('exit 0\nset -e\ntest -f x || exit 3\nexit 1').failed).toBe(false);
  });

  it('takes no text that was read for the end of a command', () => {
    expect(outcome('#!/bin/sh\nexit 1\n', { input: { path: 'a.sh' } })).toEqual({ failed: false });
    expect(outcome('test -f x || exit 3').failed).toBe(false);
    expect(outcome(`1. Exit 12 is on the left\n${long}`).failed).toBe(false);
  });

  it('heeds what the tool says of itself', () => {
    expect(outcome('no such file', { input: { path: 'a' }, isError: true })).toEqual({ failed: true });
    expect(outcome('exit 0', { isError: true })).toEqual({ failed: true, exitCode: 0 });
  });

  it('believes the note of the tool, whatever the command printed', () => {
    const printed = `exit 0 (a process goes on)\n${long}\nCommand exited with code 3`;
    const noted = (exitCode: number) => ({
      ...toolResultBlock({ id: 'c', name: 'execute' }, [
        { type: 'text', text: printed, providerMetadata: withEnd({ failed: exitCode !== 0, exitCode }) },
      ]),
      origin: 'server' as const,
    });
    expect(outcomeOf(noted(0), { input: { command: 'make' } })).toEqual({ failed: false, exitCode: 0 });
    expect(outcomeOf(noted(7), { input: { command: 'make' } })).toEqual({ failed: true, exitCode: 7 });
  });

  it.each(['Exit code: 1', 'It exited with code 1', '{"isError": true}', 'killed by SIGKILL'])(
    'learns nothing from the text of a server, or of a call that ran no command: %s',
    (text) => {
      const answer = toolResultBlock({ id: 'c', name: 'ci_status' }, text);
      expect(outcomeOf(answer, { input: { build: 7 } })).toEqual({ failed: false });
      expect(outcomeOf(answer, { input: { command: 'view', path: 'ci.log' } })).toEqual({ failed: false });
      expect(outcomeOf({ ...answer, origin: 'server' }, { input: { command: 'ci' } })).toEqual({
        failed: false,
      });
    },
  );
});
