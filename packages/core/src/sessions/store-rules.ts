import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { InvalidInputError } from '../errors/invalid-input-error.js';
import { SessionConflictError, SessionLeaseError, SessionStoreError } from '../errors/session-errors.js';
import { base64url } from '../lib/base64.js';
import { digest } from '../lib/digest.js';
import { jsonFault } from '../lib/json.js';
import { jsonObjectSchema } from '../lib/json-schemas.js';
import { errorText } from '../lib/text.js';
import { checkMessages } from '../messages/check-messages.js';
import type { SessionKey } from './session-key.js';
import type { HeldLease } from './session-leases.js';
import type { DeleteOptions, LoadOptions, SessionChange } from './session-store.js';

/** How many of its latest commits a store remembers of a session. */
const REMEMBERED = 8;
/** Characters by which those before the last are known. */
const SHORT = 8;
const OPERATION = /^[\w-]{16}$/;

const changeSchema = z.object({
  operation: z.string().regex(OPERATION, 'must be 16 characters of base64url, as operationId() draws them'),
  expected: z.string().optional(),
  /** No more than a database counts. */
  keep: z.int().min(0).max(0x7fffffff),
  head: jsonObjectSchema,
  append: z.array(z.unknown()),
  fence: z.number().optional(),
});

const retentionSchema = z.strictObject({
  olderThan: z.date(),
  limit: z.int().min(0).default(Number.MAX_SAFE_INTEGER),
});

/**
 * Reads the options of a store's own `deleteOlderThan`. Default of `limit`: all.
 *
 * @throws {InvalidInputError} for unknown or impossible options.
 */
export function retentionOf(options: { readonly olderThan: Date; readonly limit?: number | undefined }) {
  return parseWith(retentionSchema, options, 'deleteOlderThan options');
}

/** Bytes of one operation's name, and how many names are drawn at once: a draw costs more than all the rest of a name. */
const BYTES = 12;
const DRAWN = new Uint8Array(BYTES * 64);
let left = 0;

/** A name that nobody draws twice, for one commit: twelve random bytes as 16 characters of base64url. */
export function operationId(): string {
  if (left === 0) left = crypto.getRandomValues(DRAWN).length;
  left -= BYTES;
  const name = new DataView(DRAWN.buffer, left, BYTES);
  // Clones of one virtual machine draw the same bytes: the time at which they do tells them apart.
  name.setUint32(0, name.getUint32(0) ^ Date.now());
  return base64url(DRAWN.subarray(left, left + BYTES));
}

/** The name of a commit that is the same whenever it is made of the same: 16 digits of a hash. */
export function operationOf(text: string): string {
  return digest(text).slice(0, 16);
}

/**
 * Checks the format of stored data, by the number that was stored with it.
 *
 * @param subject what has the format, for the error: `The file sessions.db`.
 * @param found anything but a number is for the caller to refuse, as damage.
 * @param known the only format that this release reads.
 * @param owner the package that reads it.
 * @throws {SessionStoreError} `session_older` or `session_newer` for any other format. Nothing is written.
 */
export function checkFormat(
  subject: string,
  found: unknown,
  known: number,
  owner: string,
  key?: SessionKey,
): void {
  if (typeof found !== 'number' || found === known) return;
  const isOlder = found < known;
  const remedy = isOlder
    ? `export the sessions with the release of ${owner} that wrote them, then import them into a new store`
    : `upgrade ${owner} in this process`;
  throw new SessionStoreError(
    isOlder ? 'session_older' : 'session_newer',
    `${subject} has format ${found}, and this release of ${owner} reads format ${known}. Nothing was changed; ${remedy}.`,
    { sessionKey: key?.toString() },
  );
}

/** The changes whose parts were checked as they were made. */
const sound = new WeakSet<SessionChange>();

/** Marks a change of a session, which checks what is new in it alone. */
export function vouchForChange(change: SessionChange): SessionChange {
  sound.add(change);
  return change;
}

/**
 * Whether a change can be stored at all: the first thing that every store asks. What one store has taken, every store can
 * load.
 *
 * @throws {InvalidInputError} with the path of every field that is wrong.
 */
export function checkChange(change: SessionChange): void {
  if (sound.has(change)) return;
  const { head, append } = parseWith(changeSchema, change, 'SessionChange');
  checkMessages(append, 'SessionChange', 'append');
  const fault = jsonFault(head);
  if (fault) throw new InvalidInputError('SessionChange', [{ ...fault, path: `head.${fault.path}` }]);
}

/** What a store knows of a session before a change. */
export interface Committed {
  readonly version: number;
  /** Number of messages. */
  readonly messages: number;
  /** The operations of the latest commits, newest last; of those before the last, eight characters. */
  readonly operations: readonly string[];
}

/** The operations to remember after one more commit. */
export function remember(operations: readonly string[], operation: string): readonly string[] {
  return [...operations.map((earlier) => earlier.slice(0, SHORT)), operation].slice(-REMEMBERED);
}

/** The token of a session: its last operation. */
export function tokenOf({ operations }: Pick<Committed, 'operations'>): string {
  return operations.at(-1) ?? '';
}

/** Whether a session is not the one that is to be deleted: see `DeleteOptions`. */
export function isAnother(
  stored: Pick<Committed, 'operations'> | undefined,
  token: string | undefined,
): boolean {
  return token !== undefined && (stored === undefined || tokenOf(stored) !== token);
}

/** Whether a lease keeps a session from being deleted: see `DeleteOptions`. */
export function isKept(
  lease: Pick<HeldLease, 'fence'> | undefined,
  { unlessLeased = false, over }: DeleteOptions,
): boolean {
  return unlessLeased && lease !== undefined && lease.fence !== over;
}

/**
 * Whether a change fits what is stored.
 *
 * @param stored `undefined` when the session does not exist.
 * @param newestFence of the session's latest lease; `undefined` when none is on record, after a release or a deletion.
 * @returns the version that this very change has made, when it has been applied already; else `undefined`: apply it.
 * @throws {SessionLeaseError} `lease_lost` when the change was made under another lease than the newest.
 * @throws {SessionConflictError} when another token is current.
 * @throws {InvalidInputError} when `keep` is more than there is.
 */
export function checkCommit(
  key: SessionKey,
  change: Pick<SessionChange, 'operation' | 'expected' | 'keep' | 'fence'>,
  stored: Committed | undefined,
  newestFence?: number,
): number | undefined {
  const { operation, expected, keep, fence } = change;
  const { version = 0, messages = 0, operations = [] } = stored ?? {};
  const place = operations.findLastIndex((known) => known !== '' && operation.startsWith(known));
  if (place >= 0) return version - (operations.length - 1 - place);
  if (fence !== undefined && fence !== newestFence) throw leaseLost(key);
  if (expected !== (stored && tokenOf(stored))) throw conflict(key, expected, version);
  if (keep > messages) throw keepRefused(keep, messages);
  return undefined;
}

/** What a writer is told who was not the first. */
export function conflict(
  key: SessionKey,
  expected: string | undefined,
  actualVersion: number,
): SessionConflictError {
  return new SessionConflictError({ sessionKey: key.toString(), expected, actualVersion });
}

/** What a writer is told who keeps messages that are not stored. */
export function keepRefused(keep: number, messages: number): InvalidInputError {
  const message = `is ${keep}, but must be a whole number from 0 to the ${messages} messages that are stored`;
  return new InvalidInputError('SessionChange', [{ path: 'keep', message }]);
}

/** Makes the error for a backend that refused, or from which no answer came: then a change may have been applied. */
export function storeUnavailable(
  backend: string,
  cause: unknown,
  outcome: 'none' | 'unknown',
  key: SessionKey | undefined,
): SessionStoreError {
  const reason = errorText(cause).replace(/(?<!\.)\.+$/, '');
  const text =
    outcome === 'none'
      ? `${backend} refused: ${reason}. Nothing was written.`
      : `${backend} could not be reached: ${reason}. A commit that failed this way may have been applied: send it again.`;
  return new SessionStoreError('session_unavailable', text, { sessionKey: key?.toString(), cause, outcome });
}

/** Makes the error for a holder whose lease has ended. */
export function leaseLost(
  key: SessionKey,
  reason = 'another process has taken it, or the session was deleted',
): SessionLeaseError {
  return new SessionLeaseError(
    'lease_lost',
    `This process lost the lease on session ${key}: ${reason}. Nothing more was written; reload the session and ` +
      'repeat the call.',
    { sessionKey: key.toString() },
  );
}

/**
 * Reads the number of messages from the options of `SessionStore.load`; `undefined`: all.
 *
 * @throws {InvalidInputError} for anything but a whole number from 0.
 */
export function lastWanted({ last }: LoadOptions = {}): number | undefined {
  if (last === undefined || (Number.isSafeInteger(last) && last >= 0)) return last;
  throw new InvalidInputError('load options', [{ path: 'last', message: 'must be a whole number from 0' }]);
}

/** Takes the last so many of a list, which are all by default. */
export function lastOf<T>(list: readonly T[], last = list.length): readonly T[] {
  return list.slice(Math.max(0, list.length - last));
}
