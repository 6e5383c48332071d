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

/** Number of latest commits that a store remembers per session. */
const REMEMBERED = 8;
/** Number of characters kept of each remembered operation except the last. */
const SHORT = 8;
const OPERATION = /^[\w-]{16}$/;

const changeSchema = z.object({
  operation: z.string().regex(OPERATION, 'must be 16 characters of base64url; use operationId()'),
  expected: z.string().optional(),
  /** At most the largest 32-bit integer, which every database can store. */
  keep: z.int().min(0).max(0x7fffffff),
  head: jsonObjectSchema,
  append: z.array(z.unknown()),
  fence: z.number().optional(),
});

const NAME_BYTES = 12;
/** Random bytes for the next names. Drawing the bytes of one name takes longer than the rest of a small commit. */
const drawn = new Uint8Array(NAME_BYTES * 64);
let left = 0;

/** Returns a unique name for one commit: twelve random bytes as 16 characters of base64url. Stores may keep only the first half. */
export function operationId(): string {
  if (left === 0) left = crypto.getRandomValues(drawn).length;
  left -= NAME_BYTES;
  const name = new DataView(drawn.buffer, left, NAME_BYTES);
  // Clones of one virtual machine may draw the same bytes, so the time is mixed in.
  name.setUint32(0, name.getUint32(0) ^ Date.now());
  return base64url(drawn.subarray(left, left + NAME_BYTES));
}

/** Returns a deterministic name for a commit: 16 digits of the text's hash. */
export function operationOf(text: string): string {
  return digest(text).slice(0, 16);
}

/**
 * Checks the format number of stored data.
 *
 * @param subject Subject of the error message, such as `The file sessions.db`.
 * @param found The stored format. Anything but a number passes; the caller must reject it as damage.
 * @param known The only format that this release reads.
 * @param owner The package that reads it.
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
    ? `Export the sessions with the release of ${owner} that wrote them, then import them into a new store`
    : `Upgrade ${owner} in this process`;
  throw new SessionStoreError(
    isOlder ? 'session_older' : 'session_newer',
    `${subject} has format ${found}, but this release of ${owner} reads format ${known}. Nothing was changed. ${remedy}.`,
    { sessionKey: key?.toString() },
  );
}

/** Changes whose parts were validated when they were made. */
const sound = new WeakSet<SessionChange>();

/** Marks a change as valid. A session validates only the new parts of its changes, and then calls this. */
export function vouchForChange(change: SessionChange): SessionChange {
  sound.add(change);
  return change;
}

/**
 * Validates a change; every store calls it first. A change that one store accepts can be loaded from every store.
 * Changes that `vouchForChange` has marked are not checked again.
 *
 * @throws {InvalidInputError} with the path of every invalid field.
 */
export function checkChange(change: SessionChange): void {
  if (sound.has(change)) return;
  const { head, append } = parseWith(changeSchema, change, 'SessionChange');
  checkMessages(append, 'SessionChange', 'append');
  const fault = jsonFault(head);
  if (fault) throw new InvalidInputError('SessionChange', [{ ...fault, path: `head.${fault.path}` }]);
}

/** The stored state of a session before a change. */
export interface Committed {
  readonly version: number;
  /** Number of messages. */
  readonly messages: number;
  /** The operations of the latest commits, newest last. All but the last are shortened to eight characters. */
  readonly operations: readonly string[];
}

/** Returns the operations to remember after one more commit. */
export function remember(operations: readonly string[], operation: string): readonly string[] {
  return [...operations.map((earlier) => earlier.slice(0, SHORT)), operation].slice(-REMEMBERED);
}

/** Returns the token of a session, which is its last operation. */
export function tokenOf({ operations }: Pick<Committed, 'operations'>): string {
  return operations.at(-1) ?? '';
}

/** Tests if the stored session differs from the one to delete: see `DeleteOptions`. */
export function isAnother(
  stored: Pick<Committed, 'operations'> | undefined,
  token: string | undefined,
): boolean {
  return token !== undefined && (stored === undefined || tokenOf(stored) !== token);
}

/** Tests if a lease prevents the deletion of a session: see `DeleteOptions`. */
export function isKept(
  lease: Pick<HeldLease, 'fence'> | undefined,
  { unlessLeased = false, over }: DeleteOptions,
): boolean {
  return unlessLeased && lease !== undefined && lease.fence !== over;
}

/**
 * Checks if a change fits the stored session.
 *
 * @param stored `undefined` when the session does not exist.
 * @param newestFence Fence of the session's latest lease; `undefined` if no lease is stored, as after a release or a deletion.
 * @returns The version that this commit created if it was applied before; `undefined` if it must be applied.
 * @throws {SessionLeaseError} `lease_lost` when the change was made under an older lease.
 * @throws {SessionConflictError} when another token is current.
 * @throws {InvalidInputError} when `keep` exceeds the stored messages.
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

/** Returns the error for a writer that lost the race to another one. */
export function conflict(
  key: SessionKey,
  expected: string | undefined,
  actualVersion: number,
): SessionConflictError {
  return new SessionConflictError({ sessionKey: key.toString(), expected, actualVersion });
}

/** Returns the error for a change that keeps more messages than are stored. */
export function keepRefused(keep: number, messages: number): InvalidInputError {
  const message = `is ${keep}, but must be a whole number from 0 to the ${messages} messages that are stored`;
  return new InvalidInputError('SessionChange', [{ path: 'keep', message }]);
}

/**
 * Returns the error for a backend that rejected a request, or did not respond. Without a response, a change may have been applied.
 *
 * @param isTransient The rejection is temporary.
 */
export function storeUnavailable(
  backend: string,
  cause: unknown,
  outcome: 'none' | 'unknown',
  key: SessionKey | undefined,
  isTransient = false,
): SessionStoreError {
  const reason = errorText(cause).replace(/(?<!\.)\.+$/, '');
  const text =
    outcome === 'none'
      ? `${backend} rejected the request: ${reason}. Nothing was written.`
      : `${backend} could not be reached: ${reason}. A commit that failed this way may have been applied. Send the same commit again.`;
  return new SessionStoreError('session_unavailable', text, {
    sessionKey: key?.toString(),
    cause,
    outcome,
    isTransient,
  });
}

/** Returns the error for a process that lost its lease. */
export function leaseLost(
  key: SessionKey,
  reason = 'another process took it over, or the session was deleted',
): SessionLeaseError {
  return new SessionLeaseError(
    'lease_lost',
    `This process lost the lease on session ${key}: ${reason}. Nothing more was written. Reload the session and ` +
      'repeat the call.',
    { sessionKey: key.toString() },
  );
}

/** Returns the error for a writer whose session was deleted, or has expired, since it was last read or written. */
export function sessionDeleted(key: SessionKey): SessionStoreError {
  return new SessionStoreError(
    'session_deleted',
    `Session ${key} was deleted or has expired while a call was running. Nothing more was written. Start a new session.`,
    { sessionKey: key.toString() },
  );
}

/**
 * Reads the number of messages to load from the options of `SessionStore.load`; `undefined` means all.
 *
 * @throws {InvalidInputError} for anything but a non-negative integer.
 */
export function lastOption({ last }: LoadOptions = {}): number | undefined {
  if (last === undefined || (Number.isSafeInteger(last) && last >= 0)) return last;
  throw new InvalidInputError('load options', [{ path: 'last', message: 'must be a whole number from 0' }]);
}

/** Returns the last `last` elements of a list, by default all. */
export function lastOf<T>(list: readonly T[], last = list.length): readonly T[] {
  return list.slice(Math.max(0, list.length - last));
}
