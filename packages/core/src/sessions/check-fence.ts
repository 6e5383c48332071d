import { SessionLeaseError } from '../errors/session-lease-error.js';
import type { SessionKey } from './session-key.js';
import type { SessionChange } from './session-store.js';

/**
 * Whether a change may still be written under its lease.
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

/** What a holder is told whose lease is over. */
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
