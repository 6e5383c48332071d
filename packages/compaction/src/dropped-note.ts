import { type Message, userMessage } from '@x/core';
import { marksOf } from './conversation/marks.js';

/**
 * Stands for messages that were taken out with nothing else in their place: how many, why, and where they can be read.
 * Counts what earlier notes among them stand for, so that notes add up over chains.
 */
export function droppedNote(
  dropped: Iterable<Message>,
  why: string,
  logLocation: string | undefined,
): Message {
  let count = 0;
  for (const message of dropped) count += droppedBefore(message) || 1;
  const where = logLocation ? ` They can be read in ${logLocation}.` : '';
  return userMessage(`[${count} earlier messages were removed ${why}.${where}]`, {
    kind: 'synthetic',
    metadata: { '@x/compaction': { dropped: count } },
  });
}

/** How many messages an earlier note stands for; 0 when the message is no such note. */
export function droppedBefore(message: Pick<Message, 'metadata'>): number {
  const { dropped } = marksOf(message);
  return typeof dropped === 'number' ? dropped : 0;
}
