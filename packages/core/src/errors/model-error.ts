import type { ContextUsage } from '../tokens/context-meter.js';
import { XError } from './x-error.js';

/**
 * The reason for which a provider rejected a request. `overflow`: it does not fit the context window. `rate_limit`: too many requests or
 * tokens in a span of time. `quota`: no money or allowance is left. `auth`: invalid key, or missing permission. `payload`: a parameter, the
 * model's name or the content is invalid. `unreadable`: the provider cannot read or verify its own earlier items, so the request may
 * succeed without them. `transient`: an outage, an overload or a lost connection, so the same request may succeed later. `other`: anything
 * else.
 */
export type ModelErrorKind =
  | 'overflow'
  | 'rate_limit'
  | 'quota'
  | 'auth'
  | 'payload'
  | 'unreadable'
  | 'transient'
  | 'other';

/**
 * A model call failed. Adapters wrap their provider's error in it. `retryable` says whether the same call may succeed later, as after a
 * rate limit, an overload or a dropped connection.
 *
 * @code model_error The provider failed or rejected the request. See `status` and `retryable`. Do: 401: check the API key. 429: wait for `retryAfterMs`, or add a `fallback`. 400: change what the message names.
 */
export class ModelError extends XError {
  static override readonly brand = 'ModelError';
  readonly modelId: string | undefined;
  readonly retryable: boolean;
  /** HTTP status, if there was one. */
  readonly status: number | undefined;
  /** Milliseconds that the provider requested to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;
  /** Maximum number of useful retries, even if the agent allows more. */
  readonly maxRetries: number | undefined;

  constructor(
    message: string,
    details: {
      modelId?: string | undefined;
      retryable?: boolean;
      status?: number | undefined;
      retryAfterMs?: number | undefined;
      maxRetries?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super('model_error', message, {
      cause: details.cause,
      clientMessage: details.retryable
        ? 'The model is not available at the moment. Try again later.'
        : undefined,
    });
    this.modelId = details.modelId;
    this.retryable = details.retryable ?? false;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.maxRetries = details.maxRetries;
  }
}

/**
 * A request did not fit the model's context window. Adapters throw it when they recognize the provider's own error, which is the `cause`.
 *
 * @code context_overflow The request does not fit the context window, and nothing more can be removed. Do: See `usage`: remove tools, shorten the system prompt, add `compaction()` and `toolResultEviction()`, or use a larger window.
 */
export class ContextOverflowError extends XError {
  static override readonly brand = 'ContextOverflowError';
  readonly modelId: string | undefined;
  /** Tokens of the request, if known. */
  readonly inputTokens: number | undefined;
  /** The model's context window in tokens, if known. */
  readonly contextWindow: number | undefined;
  /** Estimated parts of the request, if known. */
  readonly usage: ContextUsage | undefined;

  constructor(
    message = 'The request does not fit the model’s context window. Compact the conversation or use a larger window.',
    details: {
      cause?: unknown;
      modelId?: string;
      inputTokens?: number | undefined;
      contextWindow?: number | undefined;
      usage?: ContextUsage;
    } = {},
  ) {
    super('context_overflow', message, {
      cause: details.cause,
      clientMessage: 'The conversation is too long for the model.',
    });
    this.modelId = details.modelId;
    this.inputTokens = details.inputTokens;
    this.contextWindow = details.contextWindow;
    this.usage = details.usage;
  }
}
