import { ModelError } from '../../../src/index.js';
import type { ModelErrorKind } from '../../../src/messages.js';

function thrown(message: string, fields: object, cause?: unknown): Error {
  return Object.assign(new Error(message, cause === undefined ? {} : { cause }), fields);
}

const inner = thrown('400 prompt is too long: 213462 tokens > 200000 maximum', { status: 400 });

/** Errors as the providers' own clients throw them, and as frameworks wrap them. */
export const clientErrors: readonly (readonly [client: string, error: unknown, kind: ModelErrorKind])[] = [
  [
    'OpenAI client',
    thrown('400 Bad request', {
      status: 400,
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
      error: { code: 'context_length_exceeded' },
    }),
    'overflow',
  ],
  [
    'OpenAI client, rate',
    thrown('429 Rate limit reached', { status: 429, code: 'rate_limit_exceeded', type: 'tokens' }),
    'rate_limit',
  ],
  [
    'Anthropic client',
    thrown('400 {"type":"error"}', {
      status: 400,
      error: {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'prompt is too long: 2 tokens > 1 maximum' },
      },
    }),
    'overflow',
  ],
  [
    'AWS client',
    thrown('Input is too long for requested model.', {
      name: 'ValidationException',
      $fault: 'client',
      $metadata: { httpStatusCode: 400 },
    }),
    'overflow',
  ],
  [
    'AWS client, throttled',
    thrown('Too many tokens, please wait before trying again.', {
      name: 'ThrottlingException',
      $metadata: { httpStatusCode: 429 },
    }),
    'rate_limit',
  ],
  [
    'AWS client, no access',
    thrown('You do not have access to the model.', {
      name: 'AccessDeniedException',
      $metadata: { httpStatusCode: 403 },
    }),
    'auth',
  ],
  [
    'Google client',
    thrown(
      '{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}',
      { name: 'ApiError', status: 400 },
    ),
    'overflow',
  ],
  [
    'axios',
    thrown('Request failed with status code 413', { response: { status: 413, data: '' } }),
    'overflow',
  ],
  [
    'Ollama client',
    thrown('the input length exceeds the context length', { name: 'ResponseError', status_code: 400 }),
    'overflow',
  ],
  ['a framework that wraps it twice', thrown('Failed', {}, thrown('Retried', {}, inner)), 'overflow'],
  [
    'a framework that lists what it tried',
    thrown('Gave up', { errors: [new Error('reset'), inner] }),
    'overflow',
  ],
  ['a stream', { type: 'invalid_request_error', message: 'prompt is too long: 2 tokens > 1' }, 'overflow'],
  ['a stream that says overload', { type: 'overloaded_error', message: 'Overloaded' }, 'transient'],
  ['a text', 'prompt is too long', 'overflow'],
  ['a lost connection', thrown('fetch failed', {}, thrown('socket', { code: 'ECONNRESET' })), 'transient'],
  ['a name that does not resolve now', thrown('getaddrinfo EAI_AGAIN', { code: 'EAI_AGAIN' }), 'transient'],
  ['undici', thrown('Headers Timeout Error', { code: 'UND_ERR_HEADERS_TIMEOUT' }), 'transient'],
  ['a time limit', new DOMException('The operation timed out.', 'TimeoutError'), 'transient'],
  ['whoever interrupts a call', new DOMException('This operation was aborted', 'AbortError'), 'other'],
  ['AI SDK, worth another try', thrown('Cannot connect to API', { isRetryable: true }), 'transient'],
  ['our own error, worth another try', new ModelError('Busy', { retryable: true }), 'transient'],
  ['our own error, not worth it', new ModelError('Broken'), 'other'],
  ['a bug', new RangeError('x is not iterable'), 'other'],
];
