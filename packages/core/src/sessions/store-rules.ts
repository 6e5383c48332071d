import { InvalidInputError } from '../errors/invalid-input-error.js';
import { SessionConflictError } from '../errors/session-conflict-error.js';
import { SessionLeaseError } from '../errors/session-lease-error.js';
import type { SessionKey } from './session-key.js';
import type { SessionChange } from './session-store.js';

/**
 * Checks that a change fits what is stored. Every store asks this first.
 *
 * @param stored version and number of messages; both 0 when the session does not exist.
 * @throws {SessionConflictError} when another version is current.
 * @throws {InvalidInputError} when `keep` is no whole number from 0 to the number of stored messages.
 */
export function checkChange(
  key: SessionKey,
  change: Pick<SessionChange, 'expectedVersion' | 'keep'>,
  stored: { readonly version: number; readonly messages: number },
): void {
  const { expectedVersion, keep } = change;
  if (expectedVersion !== 'any' && expectedVersion !== stored.version) {
    const actualVersion = stored.version;
    throw new SessionConflictError({ sessionKey: key.toString(), expectedVersion, actualVersion });
  }
  if (!Number.isInteger(keep) || keep < 0 || keep > stored.messages) throw keepRefused(keep, stored.messages);
}

/** Makes the error for a change that keeps another number of messages than are stored. */
export function keepRefused(keep: number, stored: number): InvalidInputError {
  const message = `is ${keep}, but must be a whole number from 0 to the ${stored} messages that are stored`;
  return new InvalidInputError('SessionChange', [{ path: 'keep', message }]);
}

/**
 * Checks that a change may still be written under its lease.
 *
 * @param newest fence of the session's latest lease; `undefined` when none is on record, after a release or a deletion.
 * @throws {SessionLeaseError} `lease_lost` when the change was made under another lease.
 */
export function checkFence(
  key: SessionKey,
  { fence }: Pick<SessionChange, 'fence'>,
  newest: number | undefined,
): void {
  if (fence !== undefined && fence !== newest) throw leaseLost(key);
}

/** Makes the error for a holder whose lease has ended. */
export function leaseLost(
  key: SessionKey,
  reason = 'it expired or was given up, or the session was deleted',
): SessionLeaseError {
  return new SessionLeaseError(
    'lease_lost',
    `The turn of session ${key} belongs to this process no more: ${reason}. Nothing further was written; load the ` +
      'session again and repeat the call.',
    { sessionKey: key.toString() },
  );
}
