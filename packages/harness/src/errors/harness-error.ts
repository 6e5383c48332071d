import { types } from 'node:util';
import { type SessionKey, SessionLeaseError, XError } from '@x/core';
import { errorText, exactText, headOf } from '@x/core/internal';

export type HarnessErrorCode =
  | 'agent_closed'
  | 'overloaded'
  | 'nothing_to_resume'
  | 'call_forgotten'
  | 'not_pending'
  | 'no_plan'
  | 'hook_invalid'
  | 'no_error'
  | 'events_gone';

/** What clients read. */
const CLIENT_TEXTS: { readonly [Code in HarnessErrorCode]?: string } = {
  agent_closed: 'The server is shutting down. Try again in a moment.',
  overloaded: 'The server is busy. Try again in a moment.',
  nothing_to_resume: 'There is nothing to go on with. Send a message.',
  call_forgotten: 'This message was answered before. Reload the conversation.',
  not_pending: 'This call does not wait for a decision. Reload the conversation.',
  events_gone: 'Events before this one are no longer kept. Reload the conversation.',
};

/** A refusal of the agent, or of a tool of the harness, in the present state. */
export class HarnessError extends XError {
  static override readonly brand = 'HarnessError';
  /** Milliseconds after which it may be worth another try; of `overloaded` alone. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: HarnessErrorCode,
    message: string,
    { retryAfterMs, ...options }: { cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(code, message, { ...options, clientMessage: CLIENT_TEXTS[code] });
    this.retryAfterMs = retryAfterMs;
  }
}

/** Makes the error of a hook that returned what it may not. */
export function hookInvalid(name: string, returned: unknown, wanted: string): HarnessError {
  const text = `The hook ${name} returned ${headOf(exactText(returned), 200)}. It must ${wanted}.`;
  return new HarnessError('hook_invalid', text);
}

/** Answers what was thrown where it is an error, else one that says who threw it: `undefined` tells nobody. */
export function errorOf(thrower: string, thrown: unknown): unknown {
  if (isError(thrown)) return thrown;
  const text = `${thrower} threw what is no error: ${errorText(thrown)}. Throw an Error.`;
  return new HarnessError('no_error', text, { cause: thrown });
}

function isError(thrown: unknown): boolean {
  try {
    return thrown instanceof Error || types.isNativeError(thrown);
  } catch {
    return false;
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
