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

/** Error messages for clients. */
const CLIENT_TEXTS: { readonly [Code in HarnessErrorCode]?: string } = {
  agent_closed: 'The server is shutting down. Try again in a moment.',
  overloaded: 'The server is busy. Try again in a moment.',
  nothing_to_resume: 'There is nothing to resume. Send a message.',
  call_forgotten: 'This message was answered before. Reload the conversation.',
  not_pending: 'This call does not wait for a decision. Reload the conversation.',
  events_gone: 'Events before this one are no longer kept. Reload the conversation.',
};

/**
 * The agent, or a tool of the harness, rejected a request in its current state.
 *
 * @code agent_closed The agent was closed, or is shutting down. Do: Send the call to another process, or build a new agent.
 * @code overloaded `maxRunningCalls` calls run, and `maxWaitingCalls` wait. Do: Call again after `retryAfterMs`; add processes, or raise
 * the settings.
 * @code nothing_to_resume The last call of the session has ended. Do: Send a message.
 * @code call_forgotten The session contains a message with this id, but no record of the call. Do: Reload the conversation.
 * @code not_pending No pending approval has this `approvalId`: it was already decided, or never requested. Do: Reload with
 * `pendingCalls(state)`.
 * @code no_plan There is no plan to approve. Do: Let the agent write a plan with `plan_write` first.
 * @code hook_invalid A hook returned an invalid value. Do: Return the result of `next()`, or the value that the message asks for.
 * @code no_error A tool, hook or model threw a value that is not an `Error`. Do: Throw an `Error`. The value is in `cause`.
 * @code events_gone The requested events are no longer kept. Do: Reload the conversation, and call `follow` without `after`.
 */
export class HarnessError extends XError {
  static override readonly brand = 'HarnessError';
  /** Milliseconds after which to retry. Only set for `overloaded`. */
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

/** Returns the error for a hook that returned an invalid value. */
export function hookInvalid(name: string, returned: unknown, wanted: string): HarnessError {
  const text = `The hook ${name} returned ${headOf(exactText(returned), 200)}. It must ${wanted}.`;
  return new HarnessError('hook_invalid', text);
}

/** Returns the thrown error, or an error that names the thrower if something else was thrown. */
export function errorOf(thrower: string, thrown: unknown): unknown {
  if (thrown instanceof Error || types.isNativeError(thrown)) return thrown;
  const text = `${thrower} threw a value that is not an Error: ${errorText(thrown)}. Throw an Error.`;
  return new HarnessError('no_error', text, { cause: thrown });
}

/** Returns the error of a call that is rejected because another call of its session runs in this process. */
export function sessionBusy(key: SessionKey, cause?: unknown): SessionLeaseError {
  return new SessionLeaseError(
    'lease_unavailable',
    `Another call to session ${key} is running. Nothing was stored; call again when it has ended, build the agent with ` +
      ".turns('queue') to wait for it (limits.queueMs says how long), or use another session.",
    { sessionKey: key.toString(), cause },
  );
}
