import * as z from 'zod';
import { compactionCounters, costOf, countersSchema } from '../agent/compaction-cost.js';
import { parseWith } from '../config/parse.js';
import { InvalidInputError } from '../errors/invalid-input-error.js';
import { SessionStoreError } from '../errors/session-errors.js';
import { base64url, fromBase64 } from '../lib/base64.js';
import { type JsonObject, parsedJson } from '../lib/json.js';
import { jsonObjectSchema } from '../lib/json-schemas.js';
import { SessionKey } from './session-key.js';
import type { ListOptions, SessionInfo, StoredSession } from './session-store.js';

const encoder = new TextEncoder();

const optionsSchema = z.strictObject({
  limit: z.int().min(0).optional(),
  after: z.string().optional(),
  updatedBefore: z.date().optional(),
  metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
});
const descriptionSchema = z.object({
  title: z.string().optional(),
  metadata: jsonObjectSchema.default({}),
  pendingApprovals: z.int().optional(),
  compaction: countersSchema.transform(costOf).optional(),
});

/** Number of sessions per page that a listing requests from its store. */
const PAGE = 200;
/** Maximum number of unreadable sessions named in one error. If a release cannot read a store's format, every session is unreadable. */
const NAMED = 10;

/** A session as a store finds it. The listing adds the cursor. */
export interface ListedSession extends Omit<SessionInfo, 'cursor'> {
  /** Orders sessions whose last commit was in the same millisecond, in the store's order. */
  readonly id: string;
}

/** Replaces a session that the store cannot read. */
export interface UnreadableSession extends ListPosition {
  readonly error: SessionStoreError;
}

/** A session as a database lists it. Numbers may be text; times are anything that `Date` accepts. */
export interface ListedRow {
  readonly id: number | string;
  /** The encoded key. */
  readonly key: string;
  readonly version: number | string;
  readonly createdAt: Date | string | number;
  readonly updatedAt: Date | string | number;
  readonly messages: number | string;
  readonly bytes: number | string;
  /** The text that {@link describeHead} wrote. */
  readonly description: unknown;
}

/** A position in a listing: of a session, or before all sessions of a millisecond if `id` is empty. */
export interface ListPosition {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly id: string;
}

type Page = (
  behind: ListPosition | undefined,
  count: number,
) => Promise<readonly (ListedSession | UnreadableSession)[]>;

/**
 * Lists sessions page by page, newest first, for `list` of a store. A session that gets a commit while you list all sessions moves to the
 * front and is returned last. Unreadable sessions do not stop the listing: an error reports them at the end, unless the listing reaches its
 * limit first.
 *
 * @param page Reads up to `count` sessions after a position, by time and then id, both descending.
 * @param unreadable Errors of sessions that the store knows to be unreadable before the first page.
 * @throws {InvalidInputError} for invalid options.
 * @throws {SessionStoreError} for unreadable sessions, at the end: the only error, or one that names several.
 */
export async function* listPages(
  options: ListOptions | undefined,
  page: Page,
  unreadable: readonly SessionStoreError[] = [],
): AsyncGenerator<SessionInfo, void, undefined> {
  const {
    limit,
    after,
    updatedBefore,
    metadata = {},
  } = parseWith(optionsSchema, options ?? {}, 'list options');
  const conditions = Object.entries(metadata);
  const isWanted = (row: ListedSession) => conditions.every(([name, value]) => row.metadata[name] === value);
  const start = earliest(after === undefined ? undefined : parseCursor(after), updatedBefore);
  const seen = new Set<string>();
  const errors = [...unreadable];
  let left = limit ?? Number.POSITIVE_INFINITY;
  if (left === 0) return;
  const countOf = () => (conditions.length > 0 ? PAGE : Math.min(PAGE, left));
  for await (const row of rowsOf(page, start, limit === undefined, countOf)) {
    if (seen.has(row.id)) continue;
    if ('error' in row) errors.push(row.error);
    else if (!isWanted(row)) continue;
    seen.add(row.id);
    if ('error' in row) continue;
    yield infoOf(row);
    if (--left === 0) return;
  }
  const [error] = errors;
  if (error !== undefined) throw errors.length === 1 ? error : unreadableSessions(errors);
}

/** Reads all pages. If the listing has neither limit nor start, then also reads the sessions that moved to the front meanwhile. */
async function* rowsOf(
  page: Page,
  start: ListPosition | undefined,
  isUnlimited: boolean,
  countOf: () => number,
): AsyncGenerator<ListedSession | UnreadableSession, void, undefined> {
  let first: ListPosition | undefined;
  for (let behind = start; ; ) {
    const count = countOf();
    const rows = await page(behind, count);
    for (const row of rows) {
      behind = positionOf(row);
      if (!('error' in row)) first ??= behind;
      yield row;
    }
    if (rows.length < count || !isPlace(behind)) break;
  }
  if (first === undefined || start !== undefined || !isUnlimited) return;
  for (let behind: ListPosition | undefined; ; ) {
    const rows = await page(behind, PAGE);
    for (const row of rows) {
      behind = positionOf(row);
      if (behind.time < first.time) return;
      yield row;
    }
    if (rows.length < PAGE || !isPlace(behind)) return;
  }
}

/** Tests if a listing can continue from here. A damaged row without a valid time is not a position. */
function isPlace(place: ListPosition | undefined): boolean {
  return place !== undefined && !Number.isNaN(place.time);
}

function unreadableSessions(errors: readonly SessionStoreError[]): SessionStoreError {
  const codes = new Set(errors.map(({ code }) => code));
  const [code = 'session_corrupt'] = codes.size === 1 ? codes : [];
  const lines = errors.slice(0, NAMED).map(({ message }) => message);
  if (errors.length > NAMED) lines.push(`${errors.length - NAMED} more sessions cannot be read.`);
  return new SessionStoreError(code as 'session_corrupt', lines.join('\n'), {
    cause: new AggregateError(errors),
  });
}

/**
 * Lists sessions that are all in memory, like {@link listPages}.
 *
 * @param unreadable Errors of sessions that the store could not read.
 */
export function listAll(
  sessions: readonly Omit<ListedSession, 'id'>[],
  options: ListOptions | undefined,
  unreadable: readonly SessionStoreError[] = [],
): AsyncGenerator<SessionInfo, void, undefined> {
  const sorted = sessions.map((session) => ({ ...session, id: session.key.toString() }));
  sorted.sort((left, right) => (isBehind(right, positionOf(left)) ? -1 : 1));
  const page: Page = async (behind, count) => {
    const start = behind === undefined ? 0 : sorted.findIndex((session) => isBehind(session, behind));
    return start < 0 ? [] : sorted.slice(start, start + count);
  };
  return listPages(options, page, unreadable);
}

/** Describes a fully loaded session. */
export function describeSession(
  key: SessionKey,
  {
    version,
    head,
    messages,
    createdAt,
    updatedAt,
  }: Omit<StoredSession, 'token'> & { readonly createdAt: string },
): Omit<ListedSession, 'id'> {
  const bytes = messages.reduce((sum, message) => sum + encoder.encode(JSON.stringify(message)).length, 0);
  const description = parseDescription(describeHead(head));
  return { key, version, createdAt, updatedAt, messages: messages.length, bytes, ...description };
}

/** Returns the part of a head that listings show, as JSON. It is stored separately, so that a listing reads no heads. */
export function describeHead({ title, metadata, permissionContext, extensions }: JsonObject): string {
  const { pending } = Object(permissionContext);
  const waits = Array.isArray(pending) ? pending.filter((each) => !Object(each).decision).length : 0;
  const counters = compactionCounters(extensions);
  const isUsed = Object.values(counters).some((count) => count !== 0);
  return JSON.stringify({
    ...{ title, metadata },
    ...(waits > 0 ? { pendingApprovals: waits } : {}),
    ...(isUsed ? { compaction: counters } : {}),
  });
}

/** Parses the text of {@link describeHead}. Any other text yields no title and empty metadata. */
export function parseDescription(text: unknown): z.output<typeof descriptionSchema> {
  return descriptionSchema.safeParse(parsedJson(String(text))).data ?? { metadata: {} };
}

/** Parses a row of a listing. */
export function listedSession({ id, key, ...row }: ListedRow): ListedSession | UnreadableSession {
  let sessionKey: SessionKey | undefined;
  try {
    sessionKey = SessionKey.parse(key);
    const [version, messages, bytes] = [Number(row.version), Number(row.messages), Number(row.bytes)];
    if (![version, messages, bytes].every(Number.isSafeInteger))
      throw new RangeError('The version or a size is not a number.');
    return {
      id: String(id),
      key: sessionKey,
      version,
      createdAt: new Date(row.createdAt).toISOString(),
      updatedAt: new Date(row.updatedAt).toISOString(),
      messages,
      bytes,
      ...parseDescription(row.description),
    };
  } catch (cause) {
    const message =
      `The entry "${key}" among the sessions of a store is damaged: ${(cause as Error).message} ` +
      'Nothing was changed. Restore it from a backup or delete the session.';
    const error = new SessionStoreError('session_corrupt', message, {
      sessionKey: sessionKey?.toString(),
      cause,
    });
    return { id: String(id), time: new Date(row.updatedAt).getTime(), error };
  }
}

/**
 * Returns the row number of a position in a database, or 0 for a position before all sessions of a millisecond.
 *
 * @throws {InvalidInputError} if the position comes from the listing of another kind of store.
 */
export function rowOf({ id }: ListPosition): string {
  if (/^\d{0,18}$/.test(id)) return id || '0';
  throw badCursor();
}

function positionOf(row: ListedSession | UnreadableSession): ListPosition {
  return { time: 'error' in row ? row.time : Date.parse(row.updatedAt), id: row.id };
}

function isBehind(session: ListedSession, { time, id }: ListPosition): boolean {
  const own = positionOf(session);
  return own.time < time || (own.time === time && own.id < id);
}

function infoOf({ id, ...row }: ListedSession): SessionInfo {
  return { ...row, cursor: base64url(encoder.encode(`${Date.parse(row.updatedAt)} ${id}`)) };
}

function parseCursor(cursor: string): ListPosition {
  try {
    const text = new TextDecoder().decode(fromBase64(cursor));
    // Fourteen digits reach the year 5138, which every database supports.
    const [, time, id] = /^(\d{1,14}) (.*)$/s.exec(text) ?? [];
    if (time !== undefined && id !== undefined) return { time: Number(time), id };
  } catch {
    // Not base64, so not a cursor of this listing.
  }
  throw badCursor();
}

function badCursor(): InvalidInputError {
  const message = 'must be the cursor of a session that this store has listed';
  return new InvalidInputError('list options', [{ path: 'after', message }]);
}

function earliest(place: ListPosition | undefined, before: Date | undefined): ListPosition | undefined {
  if (before === undefined || (place !== undefined && place.time < before.getTime())) return place;
  return { time: before.getTime(), id: '' };
}
