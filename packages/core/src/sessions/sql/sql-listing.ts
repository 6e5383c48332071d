import { encodeSegment } from '../../lib/encode-segment.js';
import { type ListedRow, listedSession, listPages, rowOf } from '../listing.js';
import { checkScope, type SessionScope } from '../session-key.js';
import type { ListOptions, SessionInfo } from '../session-store.js';
import type { SqlValues } from './named-values.js';

/** The parts of a key by which sessions are listed, and the names of their values in statements. */
export const SQL_PARTS = [
  ['tenantId', 'tenant'],
  ['userId', 'user'],
  ['agentId', 'agent'],
  ['sessionId', 'session'],
] as const;

/** The SQL fragments with which a database lists sessions. */
export interface SqlListing {
  /** Selects the columns of a `ListedRow`, up to the conditions. */
  readonly select: string;
  /** Suffix of the column names after the names of {@link SQL_PARTS}. */
  readonly suffix: string;
  /** Converts an encoded part to the value of its column. */
  part(encoded: string): unknown;
  /** The condition that a session comes after the position `:time` and `:id`. */
  readonly behind: string;
  /** Converts a time to a value that the database can compare. */
  time(milliseconds: number): unknown;
}

/**
 * Lists the sessions of a database within a scope, newest first, like `listPages`.
 *
 * @param collection Empty for sessions.
 * @param read Runs a statement with named values.
 * @throws {InvalidInputError} for invalid options, or an unknown part of the scope.
 */
export async function* listRows(
  listing: SqlListing,
  collection: string,
  scope: SessionScope,
  options: ListOptions | undefined,
  read: (statement: string, values: SqlValues) => Promise<readonly unknown[]>,
): AsyncGenerator<SessionInfo, void, undefined> {
  checkScope(scope);
  const conditions = ['collection = :collection'];
  const values: Record<string, unknown> = { collection };
  for (const [part, name] of SQL_PARTS) {
    const wanted = scope[part];
    if (wanted === undefined) continue;
    conditions.push(`${name}${listing.suffix} = :${name}`);
    values[name] = listing.part(encodeSegment(wanted));
  }
  yield* listPages(options, async (behind, count) => {
    const where = (behind ? [...conditions, listing.behind] : conditions).join(' AND ');
    const statement = `${listing.select} WHERE ${where} ORDER BY updated_at DESC, id DESC LIMIT ${count}`;
    const place = behind && { time: listing.time(behind.time), id: rowOf(behind) };
    const rows = (await read(statement, { ...values, ...place })) as readonly ListedRow[];
    return rows.map(listedSession);
  });
}
