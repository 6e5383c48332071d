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
  nothing_to_resume: 'There is nothing to resume. Send a message.',
  call_forgotten: 'This message was answered before. Reload the conversation.',
  not_pending: 'This call does not wait for a decision. Reload the conversation.',
  events_gone: 'Events before this one are no longer kept. Reload the conversation.',
};

/**
 * A refusal of the agent, or of a tool of the harness, in the present state.
 *
 * @code agent_closed The agent was closed, or is shutting down. Do: Send the call to another process. Keep one agent for the life of a process.
 * @code overloaded `maxRunningCalls` calls run, and `maxWaitingCalls` wait. Do: Call again after `retryAfterMs`; add processes, or raise the settings.
 * @code nothing_to_resume The last call of the session has ended. Do: Send a message.
 * @code call_forgotten A message of this id is in the session, but no call is known that sent it. Do: Reload the conversation.
 * @code not_pending No pending approval has this `approvalId`: it was decided before, or never asked. Do: Reload with `pendingCalls(state)`.
 * @code no_plan There is no plan to approve. Do: Write one with `plan_write` first.
 * @code hook_invalid A hook returned a value that it must not return. Do: Return what `next()` gives, or what the message says.
 * @code no_error Something threw a value that is not an Error. Do: Throw an `Error`; the value is in `cause`.
 * @code events_gone The events that were asked for are no longer kept. Do: Reload the conversation, and follow it without a cursor.
 */
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

/** Returns the thrown error, or an error that names the thrower if something else was thrown. */
export function errorOf(thrower: string, thrown: unknown): unknown {
  if (isError(thrown)) return thrown;
  const text = `${thrower} threw a value that is not an Error: ${errorText(thrown)}. Throw an Error.`;
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
