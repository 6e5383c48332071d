import { type JsonObject, readMessages, type SessionKey, type StoredSession } from '@x/core';
import * as z from 'zod';
import { FORMAT } from './scripts/commit.js';
import { corrupt, newer } from './store-error.js';

/** What a load reads of a session, in the order of {@link decodeSession}. */
export const FIELDS = ['version', 'count', 'operation', 'updatedAt', 'head', 'format'] as const;

const fieldsSchema = z.tuple([
  z.string().regex(/^[1-9]\d*$/),
  z.string().regex(/^\d+$/),
  z.string().min(1),
  z.string().regex(/^\d+$/),
  z.string(),
  z.string().regex(/^\d+$/).nullable(),
]);

/**
 * Reads what Redis holds of a session: its {@link FIELDS}, and the messages.
 *
 * @throws {SessionStoreError} `session_corrupt` when a part is missing, is not JSON or is not what it should be;
 * `session_newer` when a newer release wrote it.
 */
export function decodeSession(
  key: SessionKey,
  fields: readonly unknown[],
  messages: readonly unknown[] = [],
): StoredSession {
  const parts = fieldsSchema.safeParse(fields.map((field) => (field == null ? null : String(field))));
  if (!parts.success) throw corrupt(key, 'a part of it is missing');
  const [version, count, token, updatedAt, head, format] = parts.data;
  if (Number(format) > FORMAT) throw newer(key, Number(format));
  if (messages.length !== Number(count)) {
    throw corrupt(key, `it has ${messages.length} messages instead of ${count}`);
  }
  return {
    token,
    version: Number(version),
    head: decodeHead(key, head),
    messages: readMessages(messages.map(String), `session ${key}`),
    updatedAt: new Date(Number(updatedAt)).toISOString(),
  };
}

function decodeHead(key: SessionKey, text: string): JsonObject {
  const head = parseJson(key, text, 'its head');
  if (typeof head === 'object' && head !== null && !Array.isArray(head)) return head as JsonObject;
  throw corrupt(key, 'its head is no object');
}

function parseJson(key: SessionKey, text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw corrupt(key, `${what} is not JSON`, error);
  }
}
