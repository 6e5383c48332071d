import { type ClientError, httpStatusOf, ModelError, toClientError, XError } from '@x/core';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { KEY_REFUSED } from '../page.js';

/** The backend cannot fulfil a request of the page. */
export class BackendError extends XError {
  static override readonly brand = 'BackendError';

  constructor(code: string, message: string) {
    super(code, message, { clientMessage: message });
  }
}

/** HTTP statuses of codes that only the demo has. */
const statuses: Readonly<Record<string, ContentfulStatusCode | undefined>> = {
  session_not_found: 404,
  session_busy: 409,
  nothing_to_undo: 409,
};

export function apiError(
  context: Context,
  status: ContentfulStatusCode,
  code: string,
  message: string,
): Response {
  return context.json({ error: { code, message } }, status);
}

const HIDDEN = 'The server failed. The conversation is stored. The output of the server has the details.';
const CHECK_KEY =
  'Check OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENAI_BASE_URL, and whether the key may use this model. Then restart the demo.';

/** Returns the parts of an error that the page may see: its client message only, unless it is for the operator, who is the page's user. */
export function forPage(error: unknown): ClientError {
  if (XError.isInstance(error) && /^(?:warning|memory_failed)$/.test(error.code)) return error;
  if (ModelError.isInstance(error) && (error.status === 401 || error.status === 403))
    return toClientError(error, () => `${KEY_REFUSED} ${CHECK_KEY}`);
  return toClientError(error, (thrown) => (isForClients(thrown) ? undefined : HIDDEN));
}

export function isForClients(error: unknown): boolean {
  return XError.isInstance(error) && error.clientMessage !== undefined;
}

/** Responds with an error of the backend. */
export function thrownError(context: Context, error: unknown): Response {
  const { code, message } = forPage(error);
  const status = statuses[code] ?? (httpStatusOf(error) as ContentfulStatusCode);
  return apiError(context, status, code, message);
}
