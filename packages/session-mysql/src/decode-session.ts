import { type JsonObject, readMessages, type SessionKey, type StoredSession } from '@x/core';
import { toToken } from './statements.js';
import { corrupt } from './store-error.js';

/**
 * A row that the load statement answers. The session's own has seq -1, its head as body, and in one text what else there
 * is: `<version> <number of messages> <time> <operation>`. The others are messages.
 */
export type LoadedRow = readonly [seq: number | string, body: Buffer, info: string | null];

/**
 * Reads a session's rows.
 *
 * @throws {SessionStoreError} `session_corrupt` when a row is missing, is not JSON or is not what it should be.
 */
export function decodeSession(key: SessionKey, rows: readonly LoadedRow[]): StoredSession {
  const [session, ...messages] = inOrder(rows);
  const [version, count, updatedAt, operation] = session?.[2]?.split(' ') ?? [];
  if (session === undefined || updatedAt === undefined || operation === undefined)
    throw corrupt(key, 'its head is missing');
  if (messages.length !== Number(count)) {
    throw corrupt(key, `it has ${messages.length} messages instead of ${count}`);
  }
  return {
    token: toToken(Buffer.from(operation, 'hex')),
    version: Number(version),
    head: decodeHead(key, session),
    messages: readMessages(
      messages.map(([seq, body], index) => {
        if (Number(seq) !== index) throw corrupt(key, `message ${index} is missing`);
        return body.toString('utf8');
      }),
      `session ${key}`,
    ),
    updatedAt: isoTime(updatedAt),
  };
}

/** They come in the order of the primary key, as a rule; nobody promises it. */
function inOrder(rows: readonly LoadedRow[]): readonly LoadedRow[] {
  if (rows.every(([seq], index) => Number(seq) === index - 1)) return rows;
  return [...rows].sort(([left], [right]) => Number(left) - Number(right));
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

function parseJson(key: SessionKey, [, body]: LoadedRow, what: string): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw corrupt(key, `${what} is not JSON`, error);
  }
}
