import { type ClientError, httpStatusOf, InvalidInputError, toClientError, XError } from '@x/core';
import type { Issue } from '@x/core/internal';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

type BackendErrorCode =
  | 'session_not_found'
  | 'session_busy'
  | 'nothing_to_undo'
  | 'not_pending'
  | 'not_found';

/** The backend cannot do what the page asks for. */
export class BackendError extends XError {
  static override readonly brand = 'BackendError';

  constructor(code: BackendErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(code, message, { ...options, clientMessage: message });
  }
}

/** Statuses of codes that only the demo has. */
const statuses: Readonly<Record<string, ContentfulStatusCode | undefined>> = {
  session_not_found: 404,
  session_busy: 409,
  nothing_to_undo: 409,
};

/** Answers with an error; `issues` name paths in the request, for the fields of a form. */
export function apiError(
  context: Context,
  status: ContentfulStatusCode,
  code: string,
  message: string,
  issues: readonly Issue[] = [],
): Response {
  return context.json({ error: { code, message, issues } }, status);
}

const HIDDEN = 'The server failed. The conversation is kept. The output of the server says more.';

/** What the page reads of an error: the words that it was given for clients, and no others. */
export function forPage(error: unknown): ClientError {
  return toClientError(error, (thrown) => (isForClients(thrown) ? undefined : HIDDEN));
}

export function isForClients(error: unknown): boolean {
  return XError.isInstance(error) && error.clientMessage !== undefined;
}

/** Answers with an error of a backend. */
export function thrownError(context: Context, error: unknown): Response {
  const { code, message } = forPage(error);
  const issues = InvalidInputError.isInstance(error) && isForClients(error) ? error.issues : [];
  const status = statuses[code] ?? (httpStatusOf(error) as ContentfulStatusCode);
  return apiError(context, status, code, message, issues);
}
