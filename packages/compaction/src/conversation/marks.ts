import { type JsonObject, type JsonValue, type Message, type TextBlock, userMessage } from '@x/core';
import { type CommandEnd, isNumbered, isObject, withEnd } from '@x/core/internal';
import type { StubMark } from './stub-texts.js';

/** The key of this package's notes in the metadata of messages and blocks. Never sent to a model. */
const NAMESPACE = '@x/compaction';

/** Reads this package's notes on a message or block. */
export function marksOf(carrier: { readonly metadata?: JsonObject | undefined }): JsonObject {
  const marks = carrier.metadata?.[NAMESPACE];
  return isObject(marks) ? marks : {};
}

/** Makes a text with notes that replaces another text, and says how the command of that text ended. */
export function markedText(text: string, marks: JsonObject, end?: CommandEnd): TextBlock {
  return { type: 'text', text, providerMetadata: { [NAMESPACE]: marks, ...(end && withEnd(end)) } };
}

/** The notes of the stubs in a message. */
export type StubMarks = { readonly [Mark in StubMark]?: JsonValue };

/** Adds the notes of stubs to a message. */
export function withMarks(message: Message, marks: StubMarks): Message {
  return {
    ...message,
    metadata: { ...message.metadata, [NAMESPACE]: { ...marksOf(message), ...(marks as JsonObject) } },
  };
}

/** Reads the strings of a mark. */
export function stringsIn(mark: JsonValue | undefined): readonly string[] {
  return Array.isArray(mark) ? mark.filter((item) => typeof item === 'string') : [];
}

interface WaysBack {
  readonly recall?: string | undefined;
  readonly logLocation?: string | undefined;
}

/** Returns the sentence that says how to read removed messages. Names the log only if the model has no recall tool. */
export function wayBack({ recall, logLocation }: WaysBack): string | undefined {
  return recall ?? (logLocation && `Full messages: ${logLocation}.`);
}

/**
 * Makes the note that replaces removed messages if no summary does: how many, why, and where they can be read. The count includes the
 * messages that earlier notes among them stand for.
 */
export function droppedNote(dropped: Iterable<Message>, why: string, context: WaysBack): Message {
  let count = 0;
  for (const message of dropped) count += droppedBefore(message) + Number(isNumbered(message));
  const text = `[${[`${count} earlier messages were removed ${why}.`, wayBack(context)].filter(Boolean).join(' ')}]`;
  // The server's origin, because the removed messages may be from anyone.
  return userMessage([{ type: 'text', text, origin: 'server' }], {
    kind: 'synthetic',
    metadata: { '@x/compaction': { dropped: count } },
  });
}

/** Counts the messages that an earlier note replaces; 0 if the message is not such a note. */
export function droppedBefore(message: Pick<Message, 'metadata'>): number {
  const { dropped } = marksOf(message);
  return typeof dropped === 'number' ? dropped : 0;
}

/** Tests if a message is a pin board. */
export function isPinBoard(message: Message): boolean {
  return message.kind === 'synthetic' && marksOf(message).pins !== undefined;
}

/** Removes pin boards, because compaction adds them to the conversation. */
export function withoutBoards(messages: readonly Message[]): readonly Message[] {
  return messages.filter((message) => !isPinBoard(message));
}
