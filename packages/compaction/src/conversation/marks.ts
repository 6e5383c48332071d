import type { JsonObject, JsonValue, Message } from '@x/core';

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

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
