import { type JsonObject, type Message, userMessage } from '@x/core';

/** A conversation that is kept in some way. */
export interface Conversation {
  /** Adds a question and an answer, durably. */
  turn(): Promise<unknown>;
  /** Bytes that were written for it so far. */
  written(): Promise<number>;
}

const CHARACTERS = 1_400;

/** Messages of 1.5 KB each as JSON. */
export function someMessages(count: number): Message[] {
  return Array.from({ length: count }, (_, index) => userMessage(`${index} `.padEnd(CHARACTERS, 'abc ')));
}

export function someTurn(): Message[] {
  return someMessages(2);
}

/** What is beside the messages of a conversation: 300 bytes. */
export const someHead: JsonObject = {
  schemaVersion: 1,
  sessionId: 's-001',
  userId: 'alice',
  tasksContext: { note: 'n'.repeat(200) },
};

/** What a turn cannot do without: its messages and the head, as JSON. */
export const neededBytes = Buffer.byteLength(JSON.stringify([...someTurn(), someHead]));
