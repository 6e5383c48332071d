import { assistantMessage, type Message, systemMessage, textOf, userMessage } from '@x/core';
import { assertPaired } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { droppedBefore } from '../../src/conversation/marks.js';
import { dropOldest } from '../../src/index.js';
import { numbersOf } from '../../src/summary/numbers.js';
import { lines, meter, reduceWith, rounds } from '../build.js';

const tight = { mostTokens: 2_000, enoughTokens: 1_800, targetTokens: 1_800 };

describe('dropOldest', () => {
  it('drops the oldest calls with their results until the rest fits, and says so', async () => {
    const first = userMessage('build it');
    const latest = userMessage('go on');
    const rules = systemMessage('be careful');
    const messages = [rules, first, ...rounds(20, () => ({ output: lines(60) })), latest, ...rounds(2)];
    const { messages: after, fates } = await reduceWith(dropOldest(), messages, tight, {
      logLocation: 'log.jsonl',
    });

    expect(meter.messages(after)).toBeLessThanOrEqual(2_000);
    assertPaired(after);
    expect(after).toEqual(expect.arrayContaining([rules, first, latest]));
    expect(after.at(-1)).toBe(messages.at(-1));
    const note = after.find((message) => message.kind === 'synthetic');
    expect(textOf(note as Message)).toBe(
      `[${fates.length} earlier messages were removed to fit the context window. Full messages: log.jsonl.]`,
    );
    expect(note?.content).toMatchObject([{ origin: 'server' }]);
  });

  it('adds up over chains with a note on each side of a request, so that numbers stay true', async () => {
    const go = userMessage('go');
    const start = [userMessage('build it'), ...rounds(20, () => ({ output: lines(60) })), go];
    const once = await reduceWith(dropOldest(), start, tight);
    const grown = [...once.messages, ...rounds(20, () => ({ output: lines(60) }))];
    const twice = await reduceWith(dropOldest(), grown, tight);
    const notes = twice.messages.filter((message) => message.kind === 'synthetic');
    const dropped = [...once.fates, ...twice.fates].filter((fate) => fate.fate === 'dropped');
    expect(notes.length).toBeLessThanOrEqual(2);
    expect(notes.reduce((sum, note) => sum + droppedBefore(note), 0)).toBe(dropped.length);
    const numbers = numbersOf(twice.messages);
    expect(numbers.get(go)).toBe(42);
    expect(numbers.get(twice.messages.at(-1) as Message)).toBe(82);
  });

  it('keeps the numbers true also if a request was too large by little', async () => {
    const latest = userMessage('and now?');
    for (let count = 4; count < 30; count++) {
      const messages = [userMessage('build it'), ...rounds(count, () => ({ output: lines(20) })), latest];
      const before = meter.messages(messages);
      const budget = { ...tight, mostTokens: before - 1, enoughTokens: before - 1, contextWindow: before };
      const { messages: after } = await reduceWith(dropOldest(), messages, budget);
      expect(after.length).toBeLessThan(messages.length);
      expect(numbersOf(after).get(latest)).toBe(messages.length);
    }
  });

  it('leaves room for its note, even if the dropped messages are smaller', async () => {
    const latest = userMessage('and now?');
    const messages = [userMessage('build it'), ...rounds(20, () => ({ output: 'ok' })), latest];
    for (let excess = 1; excess < 80; excess++) {
      const most = meter.messages(messages) - excess;
      const budget = { ...tight, mostTokens: most, enoughTokens: most };
      const { messages: after } = await reduceWith(dropOldest(), messages, budget);
      expect(meter.messages(after)).toBeLessThanOrEqual(most);
      expect(numbersOf(after).get(latest)).toBe(messages.length);
    }
  });

  it('meets its limit in a chat of any length, drops requests in batches, and merges notes', async () => {
    let messages: readonly Message[] = [userMessage('build it')];
    let drops = 0;
    for (let turn = 0; turn < 200; turn++) {
      messages = [...messages, userMessage(`question ${turn}`), assistantMessage(lines(6))];
      const reduced = (await reduceWith(dropOldest(), [...messages, userMessage('now?')], tight)).messages;
      if (reduced.some((one) => one.kind === 'synthetic' && !messages.includes(one))) drops++;
      messages = reduced.slice(0, -1);
      expect(meter.messages(reduced)).toBeLessThanOrEqual(tight.mostTokens);
      expect(numbersOf(reduced).get(reduced.at(-1) as Message)).toBe(2 * turn + 4);
    }
    expect(drops).toBeLessThan(100);
    const isNote = (message: Message | undefined) => message !== undefined && droppedBefore(message) > 0;
    expect(messages.filter((one, index) => isNote(one) && isNote(messages[index - 1]))).toEqual([]);
  });

  it('does nothing within the limit, and keeps an open call whatever its size', async () => {
    const small = [userMessage('hi'), assistantMessage('hello')];
    expect((await reduceWith(dropOldest(), small, tight)).messages).toBe(small);

    const call = { type: 'tool_use', id: 'open', name: 'write', input: { text: lines(5_000) } } as const;
    const open = [userMessage('hi'), assistantMessage([call])];
    const result = await reduceWith(dropOldest(), open, tight);
    expect(result.messages).toBe(open);
    expect(result.note).toContain('no message may be dropped');
  });

  it('with a window of messages goes down to the trigger, leaves the newest, and names who finds the others', async () => {
    const messages = [
      userMessage('go'),
      ...rounds(20, () => ({ output: lines(60) })),
      assistantMessage('done'),
    ];
    const budget = { dueTokens: 2_000, mostTokens: 30_000, enoughTokens: 1_800 };
    expect((await reduceWith(dropOldest(), messages, budget)).messages).toBe(messages);
    const tools = [{ name: 'recall', description: 'Finds', inputSchema: {} }];
    const { messages: after } = await reduceWith(dropOldest({ newest: 15 }), messages, budget, { tools });
    // The fifteenth is a call, which brings its result.
    expect(after.slice(2)).toEqual(messages.slice(-15));
    expect(textOf(after[1] as Message)).toContain('to fit the context window: recall finds them.');
    const small = await reduceWith(dropOldest({ newest: 2 }), messages, budget);
    expect(meter.messages(small.messages)).toBeLessThanOrEqual(1_800);
  });
});
