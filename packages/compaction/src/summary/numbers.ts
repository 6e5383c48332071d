import type { Message } from '@x/core';
import { droppedBefore, isInserted } from '../conversation/marks.js';
import { readSummaries } from './summary-message.js';

/** Tests if a message has a running number in its session. */
export function isNumbered(message: Pick<Message, 'role' | 'kind'>): boolean {
  return !isInserted(message);
}

/**
 * Returns the running numbers of a conversation's messages, from 1: the position of each among the numbered messages in the session's log.
 * Messages in front of a summary keep the numbers that it gave them; those after it continue the count.
 */
export function numbersOf(messages: readonly Message[]): ReadonlyMap<Message, number> {
  const { count, standing } = readSummaries(messages.filter(({ kind }) => kind === 'summary'));
  const summarized = messages.findLastIndex(({ kind }) => kind === 'summary');
  const numbers = new Map<Message, number>();
  let last = count;
  for (const [index, message] of messages.entries()) {
    if (index > summarized) last += droppedBefore(message);
    if (!isNumbered(message)) continue;
    const known = standing.get(message.id);
    if (known !== undefined) numbers.set(message, known);
    else if (index > summarized) numbers.set(message, ++last);
  }
  return numbers;
}
