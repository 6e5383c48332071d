import { SessionStoreError } from '../errors/session-errors.js';
import { isObject, type JsonObject } from '../lib/json.js';
import { readMessages } from '../messages/check-messages.js';
import type { SessionKey } from './session-key.js';
import type { StoredSession } from './session-store.js';

/** A session in the form in which a database stores it: head and messages are JSON text. */
export interface EncodedSession {
  readonly token: string;
  readonly version: number;
  /** Expected number of messages. */
  readonly count: number;
  readonly head: string;
  readonly messages: readonly string[];
  readonly updatedAt: Date;
}

/** Creates the error for a session that lacks a part. */
export function sessionDamaged(
  key: SessionKey,
  backend: string,
  what: string,
  cause?: unknown,
): SessionStoreError {
  return new SessionStoreError(
    'session_corrupt',
    `Session ${key} is damaged in ${backend}: ${what}. Nothing was changed. Restore it from a backup or delete it.`,
    { sessionKey: key.toString(), cause },
  );
}

/**
 * Decodes a session from a database. An unreadable message becomes a placeholder: {@link readMessages}.
 *
 * @param backend Name of the backend for errors, such as `SQLite`.
 * @throws {SessionStoreError} `session_corrupt` when the head is not an object, or a message is missing.
 */
export function decodeSession(key: SessionKey, backend: string, encoded: EncodedSession): StoredSession {
  const corrupt = (what: string, cause?: unknown) => sessionDamaged(key, backend, what, cause);
  const { token, version, count, messages, updatedAt } = encoded;
  if (!Number.isInteger(version) || Number.isNaN(updatedAt.getTime()))
    throw corrupt('a part of it is missing');
  if (messages.length !== count) throw corrupt(`it has ${messages.length} messages instead of ${count}`);
  let head: unknown;
  try {
    head = JSON.parse(encoded.head);
  } catch (error) {
    throw corrupt('its head is not JSON', error);
  }
  if (!isObject(head)) throw corrupt('its head is not an object');
  return {
    token,
    version,
    head: head as JsonObject,
    messages: readMessages(messages, `session ${key}`),
    updatedAt: updatedAt.toISOString(),
  };
}
