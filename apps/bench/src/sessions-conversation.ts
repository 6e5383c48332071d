import { type JsonObject, type Message, userMessage } from '@x/core';

/** What is measured: some way to keep a conversation. */
export interface Contender {
  readonly name: string;
  /** Whether it is ours and holds what is promised of it; others are there to compare. */
  readonly isOurs: boolean;
  /** How many turns are measured; where every turn writes everything, a few must do. */
  readonly samples: number;
  /** A conversation that has so many messages. */
  open(messages: number): Promise<Conversation>;
}

export interface Conversation {
  /** Adds a question and an answer, durably. */
  turn(): Promise<void>;
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
