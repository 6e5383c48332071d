import { type SessionKey, SessionLeaseError, XError } from '@x/core';

export type HarnessErrorCode =
  | 'agent_closed'
  | 'nothing_to_resume'
  | 'call_forgotten'
  | 'not_pending'
  | 'no_plan'
  | 'events_gone';

/** A refusal of the agent, or of a tool of the harness, in the present state. */
export class HarnessError extends XError {
  static override readonly brand = 'HarnessError';

  constructor(code: HarnessErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(code, message, options);
  }
}

/** Makes the error of a call while another call of its session runs in this process. */
export function sessionBusy(key: SessionKey, cause?: unknown): SessionLeaseError {
  return new SessionLeaseError(
    'lease_unavailable',
    `Another call to session ${key} is running. Nothing was stored; call again when it has ended, build the agent with ` +
      ".turns('queue') to wait for it (limits.queueMs says how long), or use another session.",
    { sessionKey: key.toString(), cause },
  );
}
