import { assistantMessage, type Message, type ToolUseBlock, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { neverStored } from '../../src/backend/event-file.js';

const call = (id: string): ToolUseBlock => ({ type: 'tool_use', id, name: 'read', input: {} });
const lostOf = (logged: readonly Message[], context: readonly Message[]) =>
  logged.filter(({ id }) => neverStored(logged, context).has(id));

const asked = userMessage('Look around');
const [first, second] = [call('one'), call('two')];
const step = assistantMessage([first, second]);
const results = [toolResultMessage(first, 'here'), toolResultMessage(second, 'there')];
const answer = assistantMessage('Nothing there.');

describe('what was logged and never stored', () => {
  it('is nothing in a conversation that went well, also once all of it was reduced', () => {
    const whole = [asked, step, ...results, answer];
    expect(lostOf(whole, whole)).toEqual([]);
    expect(lostOf(whole, [answer])).toEqual([]);
    expect(lostOf(whole, [])).toEqual([]);
  });

  it('is no call that still runs or waits for a human', () => {
    expect(lostOf([asked, step], [asked, step])).toEqual([]);
  });

  it('is a step whose process died before it was stored', () => {
    const again = assistantMessage([call('three')]);
    const found = toolResultMessage(call('three'), 'here');
    expect(lostOf([asked, step], [asked])).toEqual([step]);
    expect(lostOf([asked, step, again, found, answer], [asked, again, found, answer])).toEqual([step]);
    expect(lostOf([asked, step, again, found, answer], [answer])).toEqual([step]);
  });

  it('is the result of a call that was closed as interrupted by whoever went on', () => {
    const closed = toolResultMessage(first, 'Interrupted', { isError: true });
    const one = assistantMessage([first]);
    const before = toolResultMessage(first, 'here');
    expect(lostOf([asked, one, before], [asked, one])).toEqual([before]);
    expect(lostOf([asked, one, before, closed], [asked, one, closed])).toEqual([before]);
    expect(lostOf([asked, one, before, closed, answer], [answer])).toEqual([before]);
  });

  it('is no message that somebody said, nor an answer', () => {
    expect(lostOf([asked, answer], [])).toEqual([]);
  });
});
