import { hasBrand, XError } from './x-error.js';

/**
 * The reason for which a provider refused a request. `overflow`: it does not fit the context window. `rate_limit`: too much in a span of
 * time. `quota`: no money or allowance is left. `auth`: key or permission. `payload`: the request is refused as it is,
 * for anything but its length: a parameter, a model's name, its content. `unreadable`: the provider cannot read, or does not trust,
 * what it once gave to be sent back, so that the request may succeed without. `transient`: an outage, an overload or a lost
 * connection, so that the same request may succeed later. `other`: anything else.
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
 * A model call failed. Adapters wrap their provider's error in it and say whether the same call may succeed later
 * (`retryable`: rate limits, overload, dropped connections), so that the harness knows when to try again.
 */
export class ModelError extends XError {
  readonly modelId: string | undefined;
  readonly retryable: boolean;
  /** HTTP status, where there was one. */
  readonly status: number | undefined;
  /** Milliseconds that the provider asked to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    details: {
      modelId?: string | undefined;
      retryable?: boolean;
      status?: number | undefined;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super('model_error', message, { cause: details.cause, brands: ['ModelError'] });
    this.modelId = details.modelId;
    this.retryable = details.retryable ?? false;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }

  static override isInstance(error: unknown): error is ModelError {
    return hasBrand(error, 'ModelError');
  }
}
