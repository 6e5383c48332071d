import { type JsonObject, type Message, messageSchema, type SessionKey, type StoredSession } from '@x/core';
import type { RowDataPacket } from 'mysql2/promise';
import { corrupt } from './store-error.js';

/** A row that the load statement answers: the session's own has seq -1, the others are messages. */
export interface LoadedRow extends RowDataPacket {
  readonly seq: number | string;
  readonly version: number | string | null;
  readonly count: number | string | null;
  readonly updatedAt: string | null;
  readonly body: Buffer | null;
}

/**
 * Reads a session's rows.
 *
 * @throws {SessionStoreError} `session_corrupt` when a row is missing, is not JSON or is not what it should be.
 */
export function decodeSession(key: SessionKey, rows: readonly LoadedRow[]): StoredSession {
  const [session, ...messages] = [...rows].sort((left, right) => Number(left.seq) - Number(right.seq));
  if (session === undefined || Number(session.seq) !== -1) throw corrupt(key, 'its head is missing');
  const count = Number(session.count);
  if (messages.length !== count) {
    throw corrupt(key, `it has ${messages.length} messages instead of ${count}`);
  }
  return {
    version: Number(session.version),
    head: decodeHead(key, session),
    messages: messages.map((row, index) => decodeMessage(key, row, index)),
    updatedAt: isoTime(session.updatedAt ?? ''),
  };
}

/** `2026-01-31T12:00:00.123000`, in UTC, as ISO 8601. */
export function isoTime(time: string): string {
  return `${time.slice(0, 23)}Z`;
}

function decodeHead(key: SessionKey, row: LoadedRow): JsonObject {
  const head = parseJson(key, row, 'its head');
  if (typeof head === 'object' && head !== null && !Array.isArray(head)) return head as JsonObject;
  throw corrupt(key, 'its head is no object');
}

// Checked but not copied: what was stored is what is returned, fields that this version does not know included.
function decodeMessage(key: SessionKey, row: LoadedRow, index: number): Message {
  if (Number(row.seq) !== index) throw corrupt(key, `message ${index} is missing`);
  const message = parseJson(key, row, `message ${index}`);
  const { error } = messageSchema.safeParse(message);
  if (error) throw corrupt(key, `message ${index} is no message`, error);
  return message as Message;
}

function parseJson(key: SessionKey, { body }: LoadedRow, what: string): unknown {
  try {
    return JSON.parse(body?.toString('utf8') ?? '');
  } catch (error) {
    throw corrupt(key, `${what} is not JSON`, error);
  }
}
