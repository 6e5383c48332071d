import { XError } from './x-error.js';

/** What a client reads of an error. */
export interface ClientError {
  /** The code of the error; `internal` for errors that have none of ours. */
  readonly code: string;
  readonly message: string;
  /** Milliseconds after which it may be worth another try, where that is known: of a server that is busy. */
  readonly retryAfterMs?: number;
}

/** Words an error for clients. `undefined`: as it is by default. */
export type WordError = (error: unknown) => string | undefined;

const MASKED = 'An error occurred.';

/**
 * Turns what was thrown into what a client may read. Only errors that were made with a `clientMessage` say more than that an error
 * occurred: the text of any other may hold addresses, keys and paths. Every way out of our packages uses this function.
 *
 * @example
 * ```ts
 * import { httpStatusOf, toClientError } from '@x/core';
 *
 * export function refusal(error: unknown): Response {
 *   console.error(error);
 *   return Response.json(toClientError(error), { status: httpStatusOf(error) });
 * }
 * ```
 * @param onError Words the error, for example in the language of the user. Default: the error's own `clientMessage`.
 */
export function toClientError(error: unknown, onError?: WordError): ClientError {
  const known = XError.isInstance(error) ? error : undefined;
  const message = worded(error, onError) ?? known?.clientMessage ?? MASKED;
  const retryAfterMs = known !== undefined && 'retryAfterMs' in known ? known.retryAfterMs : undefined;
  const hint = typeof retryAfterMs === 'number' ? { retryAfterMs } : {};
  return { code: known?.code ?? 'internal', message, ...hint };
}

/** A function that fails, or answers no words, says nothing: its own error may hold what must not be shown. */
function worded(error: unknown, onError: WordError | undefined): string | undefined {
  try {
    const message: unknown = onError?.(error);
    return typeof message === 'string' && message.trim() !== '' ? message : undefined;
  } catch {
    return undefined;
  }
}

const STATUSES: { readonly [code: string]: number } = {
  invalid_input: 400,
  invalid_path: 400,
  is_directory: 400,
  outside_workspace: 403,
  not_found: 404,
  call_forgotten: 409,
  lease_lost: 409,
  lease_unavailable: 409,
  no_plan: 409,
  not_pending: 409,
  nothing_to_resume: 409,
  session_conflict: 409,
  events_gone: 410,
  session_deleted: 410,
  context_overflow: 413,
  model_error: 502,
  output_invalid: 502,
  agent_closed: 503,
  overloaded: 503,
  session_unavailable: 503,
  timed_out: 504,
};

/** The HTTP status of an answer that is an error: by its code, and 500 for all others. */
export function httpStatusOf(error: unknown): number {
  return (XError.isInstance(error) && STATUSES[error.code]) || 500;
}
