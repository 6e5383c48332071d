import { APICallError } from '@ai-sdk/provider';
import { InvalidInputError, ModelError } from '@x/core';
import { describe, expect, it } from 'vitest';
import { toModelError } from '../../src/errors/to-model-error.js';

const details = { modelId: 'acme:large', contextWindow: 10, signal: undefined };
const retryable = (error: unknown) => {
  const result = toModelError(error, details);
  return ModelError.isInstance(result) ? result.retryable : 'not a ModelError';
};
const network = (code: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('socket'), { code }) });

describe('toModelError', () => {
  it.each([
    ['a refused connection', network('ECONNREFUSED')],
    ['a reset connection', Object.assign(new Error('read'), { code: 'ECONNRESET' })],
    ['a time-out of undici', network('UND_ERR_BODY_TIMEOUT')],
    ['a connection lost in the middle of an answer', new TypeError('terminated')],
    ['a time-out of somebody else', AbortSignal.abort(new DOMException('late', 'TimeoutError')).reason],
    ['overload, streamed', { type: 'overloaded_error', message: 'Overloaded' }],
    ['a status in words', { message: 'Bad gateway', code: 502 }],
    [
      'what the SDK says',
      new APICallError({ message: 'x', url: '', requestBodyValues: {}, isRetryable: true }),
    ],
  ])('may be tried again: %s', (_, error) => {
    expect(retryable(error)).toBe(true);
  });

  it.each([
    ['a bad request', new APICallError({ message: 'x', url: '', requestBodyValues: {}, statusCode: 400 })],
    ['a quota, streamed', { type: 'insufficient_quota', code: 429, message: 'Pay' }],
    [
      'a quota, which the SDK would try again',
      new APICallError({
        ...{ message: 'Pay', url: '', requestBodyValues: {}, statusCode: 429 },
        data: { error: { message: 'Pay', type: 'insufficient_quota', code: 'insufficient_quota' } },
      }),
    ],
    ['a bug', new RangeError('x is not iterable')],
    ['nothing', undefined],
  ])('may not be tried again: %s', (_, error) => {
    expect(retryable(error)).toBe(false);
  });

  it('says where to look for a key that was refused, and that a connection broke', () => {
    const said = (error: unknown) => (toModelError(error, details) as ModelError).message;
    const refused = new APICallError({ message: 'No auth', url: '', requestBodyValues: {}, statusCode: 401 });
    expect(said(refused)).toContain('No auth. Check the API key in OPENAI_API_KEY, ANTHROPIC_API_KEY');
    const cut = new APICallError({
      message: 'Failed to process successful response',
      url: '',
      requestBodyValues: {},
      statusCode: 200,
      cause: new TypeError('terminated', {
        cause: Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' }),
      }),
    });
    expect(said(cut)).toMatch(/connection to the provider failed or was interrupted/);
    expect(said(new Error('Bad words'))).toMatch(/Bad words$/);
  });

  it('names the status and the address, without what may be secret in it, and tells of a web page', () => {
    const said = (statusCode: number, contentType: string) =>
      (
        toModelError(
          new APICallError({
            message: 'Not Found',
            url: 'https://me:secret@api.test/chat?key=secret',
            requestBodyValues: {},
            statusCode,
            responseHeaders: { 'content-type': contentType },
          }),
          details,
        ) as ModelError
      ).message;
    expect(said(404, 'text/html; charset=utf-8')).toBe(
      'The call of acme:large failed with 404 at https://api.test/chat: Not Found. The server answered with a web page (text/html). Check the base URL.',
    );
    expect(said(200, 'application/json')).toBe(
      'The call of acme:large failed at https://api.test/chat: Not Found',
    );
  });

  it.each([
    [
      Object.assign(new Error('Invalid JSON response'), {
        name: 'AI_APICallError',
        statusCode: 200,
        isRetryable: false,
      }),
    ],
    [Object.assign(new Error('JSON parsing failed'), { name: 'AI_JSONParseError' })],
    [Object.assign(new Error('Type validation failed'), { name: 'AI_TypeValidationError' })],
    [
      new TypeError('failed', {
        cause: Object.assign(new Error('incorrect header check'), { code: 'Z_DATA_ERROR' }),
      }),
    ],
  ])('asks once more after an answer that cannot be read: %s', (error) => {
    expect(toModelError(error, details)).toMatchObject({ retryable: true, maxRetries: 1 });
  });

  it('lets our own errors and the signal’s reason through', () => {
    const own = new InvalidInputError('x', []);
    expect(toModelError(own, details)).toBe(own);
    const signal = AbortSignal.abort('enough');
    expect(toModelError(new DOMException('aborted', 'AbortError'), { ...details, signal })).toBe('enough');
  });
});
