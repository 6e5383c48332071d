import type { ModelErrorKind } from '../../../src/messages.js';

/** What a provider answered, and what that is to be taken for. */
export type AnswerCase = readonly [provider: string, status: number, body: unknown, kind: ModelErrorKind];

/** An error with the provider's answer inside, as HTTP clients make it. */
export function httpError(statusCode: number, body: unknown): Error {
  const responseBody = typeof body === 'string' ? body : JSON.stringify(body);
  const message = (body as { error?: { message?: string } }).error?.message;
  return Object.assign(new Error(message ?? `HTTP ${statusCode}`), { statusCode, responseBody });
}

export const openai = (message: string, fields: object = {}) => ({
  error: { message, type: 'invalid_request_error', param: 'messages', code: null, ...fields },
});
export const anthropic = (type: string, message: string) => ({ type: 'error', error: { type, message } });
export const google = (code: number, status: string, message: string) => ({
  error: { code, message, status },
});
