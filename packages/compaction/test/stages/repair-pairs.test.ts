import {
  assistantMessage,
  type Message,
  type ToolUseBlock,
  textOf,
  toolResultMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
} from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor, dropOldest, type Stage, unchanged } from '../../src/index.js';
import { needsRepair, repairPairs } from '../../src/stages/repair-pairs.js';
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

  it('keeps the first of two results that one message holds for one call', async () => {
    const one = call('c', 'a');
    const [first, second] = ['first', 'second'].map((text) => toolResultMessage(one, text));
    const both = { ...first, content: [...(first?.content ?? []), ...(second?.content ?? [])] } as Message;
    const messages = [userMessage('go'), assistantMessage([one]), both, assistantMessage('done')];
    const { messages: after, fates } = await reduceWith(repairPairs, messages);
    expect(after.flatMap((message) => toolResultsOf(message)).map(({ output }) => textOf(output))).toEqual([
      'first',
    ]);
    expect(after.flatMap((message) => toolUsesOf(message))).toEqual([one]);
    expect(fates).toEqual([{ messageId: both.id, fate: 'repaired' }]);
    expect(needsRepair(after)).toBe(false);
  });

  it('keeps the answered one of two calls with one id', async () => {
    const [one, two] = [call('c', 'a'), call('c', 'b')];
    const messages = [
      userMessage('go'),
      assistantMessage([one, two]),
      toolResultMessage(one, 'first'),
      userMessage('and now?'),
    ];
    const { messages: after } = await reduceWith(repairPairs, messages);
    expect(after.flatMap((message) => toolUsesOf(message))).toEqual([one]);
    expect(after.flatMap((message) => toolResultsOf(message))).toHaveLength(1);
    expect(needsRepair(after)).toBe(false);
  });

  it('is applied where it is all that a compaction does', async () => {
    const [one, two] = [call('call_0', 'a'), call('call_0', 'b')];
    const messages = [
      userMessage('go'),
      assistantMessage([one, two]),
      toolResultMessage(one, 'first'),
      toolResultMessage(two, 'second'),
      assistantMessage('done'),
    ];
    const nothing: Stage = { name: 'nothing', cost: 'free', reduce: async (view) => unchanged(view, '') };
    const outcome = await createCompactor({ stages: [nothing] }).compact(messages);
    expect(outcome).toMatchObject({
      status: 'applied',
      message: 'repaired tool calls without results or results without calls',
    });
    expect(outcome.messages.flatMap((message) => toolUsesOf(message)).map(({ id }) => id)).toEqual([
      'call_0',
      'call_0_2',
    ]);
    expect(needsRepair(outcome.messages)).toBe(false);
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
