import { type JsonObject, type Message, userMessage } from '@x/core';

const CHARACTERS = 1_400;

/** Returns messages of 1.5 KB each as JSON. */
export function someMessages(count: number): Message[] {
  return Array.from({ length: count }, (_, index) => userMessage(`${index} `.padEnd(CHARACTERS, 'abc ')));
}

export function someTurn(): Message[] {
  return someMessages(2);
}

/** The head of a conversation, without its messages: 300 bytes. */
export const someHead: JsonObject = {
  schemaVersion: 1,
  sessionId: 's-001',
  userId: 'alice',
  tasksContext: { note: 'n'.repeat(200) },
};

/** Minimum bytes of a turn: its messages and the head, as JSON. */
export const neededBytes = Buffer.byteLength(JSON.stringify([...someTurn(), someHead]));
