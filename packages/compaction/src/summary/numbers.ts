import type { Message, SessionLog } from '@x/core';
import { isNumbered } from '@x/core/internal';
import { droppedBefore } from '../conversation/marks.js';
import { readSummaries } from './summary-message.js';

/** The numbers of messages in the log of their session. */
const numbersInLog = new WeakMap<Message, number>();

/** Looks up the numbers of messages in the log, for {@link numbersOf}. If the log fails, they are counted in the conversation. */
export async function lookUpNumbers(messages: readonly Message[], log: SessionLog): Promise<void> {
  const numbers = await log.numbers?.(messages.map(({ id }) => id)).catch(() => undefined);
  for (const message of messages) {
    const number = numbers?.get(message.id);
    if (number !== undefined) numbersInLog.set(message, number);
  }
}

/**
 * Returns the running numbers of a conversation's messages, from 1: the position of each among the numbered messages in the session's log.
 * Without a log, messages in front of a summary keep the numbers that it gave them, and those after it continue the count.
 *
 * @param original Returns a message as it was before stages altered it.
 */
export function numbersOf(
  messages: readonly Message[],
  original = (message: Message): Message => message,
): ReadonlyMap<Message, number> {
  const { count, standing } = readSummaries(messages.filter(({ kind }) => kind === 'summary'));
  const summarized = messages.findLastIndex(({ kind }) => kind === 'summary');
  const numbers = new Map<Message, number>();
  let last = count;
  for (const [index, message] of messages.entries()) {
    if (index > summarized) last += droppedBefore(message);
    if (!isNumbered(message)) continue;
    const logged = numbersInLog.get(original(message));
    if (index > summarized) last = logged ?? last + Number(!standing.has(message.id));
    const number = logged ?? standing.get(message.id) ?? (index > summarized ? last : undefined);
    if (number !== undefined) numbers.set(message, number);
  }
  return numbers;
}
