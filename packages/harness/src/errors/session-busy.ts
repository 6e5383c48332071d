import { type SessionKey, SessionLeaseError } from '@x/core';

/** What a call is refused with while another one of its session runs in this process. */
export function sessionBusy(key: SessionKey): SessionLeaseError {
  return new SessionLeaseError(
    'lease_unavailable',
    `Another call to session ${key} is running. Nothing was stored; call again when it has ended, build the agent with ` +
      ".turns('queue') to wait for it, or use another session.",
    { sessionKey: key.toString() },
  );
}
