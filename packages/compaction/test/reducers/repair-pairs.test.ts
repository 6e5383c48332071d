import {
  assistantMessage,
  type ToolUseBlock,
  textOf,
  toolResultMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
} from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor, dropOldest } from '../../src/index.js';
import { needsRepair, repairPairs } from '../../src/reducers/repair-pairs.js';
import { reduceWith } from '../build.js';

const call = (id: string, path: string): ToolUseBlock => ({
  type: 'tool_use',
  id,
  name: 'look',
  input: { path },
});

describe('repairPairs', () => {
  it('gives two calls of one message with the same id, and their results, ids of their own', async () => {
    const [one, two] = [call('call_0', 'a'), call('call_0', 'b')];
    const messages = [
      userMessage('go'),
      assistantMessage([one, two]),
      toolResultMessage(one, 'first'),
      toolResultMessage(two, 'second'),
      assistantMessage('done'),
    ];
    const { messages: after } = await reduceWith(repairPairs, messages);
    const uses = after.flatMap((message) => toolUsesOf(message));
    const results = after.flatMap((message) => toolResultsOf(message));
    expect(uses.map(({ id }) => id)).toEqual(['call_0', 'call_0_2']);
    expect(results.map((result) => [result.toolUseId, textOf([result])])).toEqual([
      ['call_0', 'first'],
      ['call_0_2', 'second'],
    ]);
    expect(needsRepair(after)).toBe(false);
    const outcome = await createCompactor({ stages: [dropOldest()] }).compact(messages);
    expect(outcome.steps[0]).not.toHaveProperty('note');
  });

  it('moves 100 000 results from behind one note, each looked at once', async () => {
    const calls = Array.from({ length: 100_000 }, (_, index) => call(`c${index}`, 'a'));
    const note = userMessage('by the way');
    const batch = assistantMessage(calls);
    const results = calls.map((one) => toolResultMessage(one, 'ok'));
    const { messages: after } = await reduceWith(repairPairs, [batch, note, ...results]);
    expect(after).toHaveLength(100_002);
    expect([after[0], after[1], after.at(-1)]).toEqual([batch, results[0], note]);
  });
});
