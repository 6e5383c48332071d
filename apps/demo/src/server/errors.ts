import { InvalidInputError, XError } from '@x/core';
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
    super(code, message, options);
  }
}

const statuses: Readonly<Record<string, ContentfulStatusCode | undefined>> = {
  invalid_input: 400,
  invalid_path: 400,
  outside_workspace: 403,
  session_not_found: 404,
  not_found: 404,
  is_directory: 400,
  empty_conversation: 400,
  unknown_format: 400,
  session_busy: 409,
  session_conflict: 409,
  nothing_to_undo: 409,
  not_pending: 409,
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

/** Answers with an error of a backend. Only the text of an `XError` is for the page: any other text may reveal internals. */
export function thrownError(context: Context, error: unknown): Response {
  if (XError.isInstance(error)) {
    const issues = InvalidInputError.isInstance(error) ? error.issues : [];
    return apiError(context, statuses[error.code] ?? 500, error.code, error.message, issues);
  }
  const message = 'The server failed. The conversation is kept. The output of the server says more.';
  return apiError(context, 500, 'internal', message);
}
