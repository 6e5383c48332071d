import { isObject, type JsonObject, type JsonValue, type Message, userMessage } from '@x/core';

/** Under which name this package keeps its notes in the metadata of messages and blocks. Never sent to a model. */
const NAMESPACE = '@x/compaction';

/** This package's notes on a message or block. */
export function marksOf(carrier: { readonly metadata?: JsonObject | undefined }): JsonObject {
  const marks = carrier.metadata?.[NAMESPACE];
  return isObject(marks) ? marks : {};
}

/** The message with more notes. */
export function withMarks(message: Message, marks: JsonObject): Message {
  return {
    ...message,
    metadata: { ...message.metadata, [NAMESPACE]: { ...marksOf(message), ...marks } },
  };
}

/** The strings that a mark holds. */
export function stringsIn(mark: JsonValue | undefined): readonly string[] {
  return Array.isArray(mark) ? mark.filter((item) => typeof item === 'string') : [];
}

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
