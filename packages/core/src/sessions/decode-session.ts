import { SessionStoreError } from '../errors/session-store-error.js';
import type { JsonObject } from '../lib/json.js';
import { type Message, messageSchema } from '../messages/message.js';
import type { SessionKey } from './session-key.js';
import type { StoredSession } from './session-store.js';

/** A session as a database holds it: head and messages are JSON text. */
export interface EncodedSession {
  readonly token: string;
  readonly version: number;
  /** How many messages there have to be. */
  readonly count: number;
  readonly head: string;
  readonly messages: readonly string[];
  readonly updatedAt: Date;
}

/**
 * Reads a session out of a database. Messages are checked and not copied: fields that this release does not know stay.
 *
 * @param backend for the message of an error: `SQLite`.
 * @throws {SessionStoreError} `session_corrupt` when a part is missing, is not JSON or is not what it should be.
 */
export function decodeSession(key: SessionKey, backend: string, encoded: EncodedSession): StoredSession {
  const corrupt = (what: string, cause?: unknown) =>
    new SessionStoreError(
      'session_corrupt',
      `Session ${key} is damaged in ${backend}: ${what}. It was left as it is; restore it from a backup or delete it.`,
      { sessionKey: key.toString(), cause },
    );
  const parse = (text: string, what: string): unknown => {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw corrupt(`${what} is not JSON`, error);
    }
  };
  const { token, version, count, messages, updatedAt } = encoded;
  if (messages.length !== count) throw corrupt(`it has ${messages.length} messages instead of ${count}`);
  const head = parse(encoded.head, 'its head');
  if (typeof head !== 'object' || head === null || Array.isArray(head))
    throw corrupt('its head is no object');
  return {
    token,
    version,
    head: head as JsonObject,
    messages: messages.map((text, index) => {
      const message = parse(text, `message ${index}`);
      const { error } = messageSchema.safeParse(message);
      if (error) throw corrupt(`message ${index} is no message`, error);
      return message as Message;
    }),
    updatedAt: updatedAt.toISOString(),
  };
}
