import { assistantMessage, estimateCounter, type Message, type TokenCounter, userMessage } from '@x/core';
import { expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { rounds } from '../build.js';

/** A conversation of so many short turns, each of them a request, two calls and an answer. */
function turns(count: number): Message[] {
  return Array.from({ length: count }, (_, turn) => [
    userMessage(`Please look at order ${turn}.`),
    ...rounds(2, (index) => ({ input: { id: turn * 2 + index }, output: `paid ${turn}, sent ${index}` })),
    assistantMessage(`Order ${turn} is paid and sent.`),
  ]).flat();
}

/** What one compaction of them looks at: contents of messages that are read, and UTF-16 units that are counted. */
async function workFor(count: number): Promise<number> {
  let work = 0;
  const counter: TokenCounter = {
    name: 'watched',
    count: (text) => {
      work += text.length;
      return estimateCounter.count(text);
    },
  };
  const messages = turns(count).map((message) =>
    Object.defineProperty({ ...message }, 'content', {
      enumerable: true,
      get: () => {
        work++;
        return message.content;
      },
    }),
  );
  const compactor = createCompactor({ model: null, contextWindow: 30_000, counter });
  expect((await compactor.compact(messages)).status).toBe('applied');
  return work;
}

it('costs what there is to read: a conversation four times as long costs four times as much', async () => {
  expect((await workFor(400)) / (await workFor(100))).toBeLessThan(5);
});
