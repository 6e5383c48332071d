import type { Message } from '../messages/message.js';

/**
 * The log of a session: every message that ever was, in order, lossless, append-only. It is written before anything is
 * reduced, so that whatever a compaction removes can be read again.
 */
export interface SessionLog {
  /** Where it is, for people and for `read_file`; a workspace path where there is one. */
  readonly location: string;
  /** Appends those messages that the log does not hold yet, by id. Durable when it returns. */
  append(messages: readonly Message[]): Promise<void>;
  /** All messages, oldest first. A torn last line (a crash while writing) is left out. */
  read(): AsyncIterable<Message>;
  /** One message by its id. */
  get(messageId: string): Promise<Message | undefined>;
}
