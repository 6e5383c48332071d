import { XError } from './x-error.js';

/** The part of an error that a client may read. */
export interface ClientError {
  /** The code of an `XError`; `internal` for all other errors. */
  readonly code: string;
  readonly message: string;
  /** Milliseconds until a retry may succeed, if known, for example when a server is busy. */
  readonly retryAfterMs?: number;
}

/** Returns the client message of an error, or `undefined` for the default message. */
export type WordError = (error: unknown) => string | undefined;

const MASKED = 'An error occurred.';

/**
 * Converts a thrown value into an error that a client may read. Errors without a `clientMessage` are masked, because their text
 * may contain addresses, keys and paths.
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
 * @param onError Returns the client's text for the error, for example in the user's language. Default: the error's own `clientMessage`.
 */
export function toClientError(error: unknown, onError?: WordError): ClientError {
  const known = XError.isInstance(error) ? error : undefined;
  const message = worded(error, onError) ?? known?.clientMessage ?? MASKED;
  const retryAfterMs = known !== undefined && 'retryAfterMs' in known ? known.retryAfterMs : undefined;
  const hint = typeof retryAfterMs === 'number' ? { retryAfterMs } : {};
  return { code: known?.code ?? 'internal', message, ...hint };
}

/** Returns the message of `onError`. If it throws or returns no text, returns `undefined`: its error may contain secrets. */
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

/** Returns the HTTP status for an error by its code, or 500 if it has no known code. */
export function httpStatusOf(error: unknown): number {
  return (XError.isInstance(error) && STATUSES[error.code]) || 500;
}
