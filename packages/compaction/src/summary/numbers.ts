import type { Message } from '@x/core';
import { droppedBefore } from '../conversation/marks.js';
import { readSummaries } from './summary-message.js';

/** Tests if a message has a running number in its session: not what was injected, and no system prompt. */
export function isNumbered({ role, kind }: Pick<Message, 'role' | 'kind'>): boolean {
  return role !== 'system' && kind === undefined;
}

/**
 * The running numbers of a conversation's messages, from 1: the message that the session's log has in that place among
 * its numbered ones. Messages in front of a summary have the numbers that it gave them, those behind it count on.
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
