import { hasBrand, XError } from './x-error.js';

/**
 * A model call failed. Adapters wrap their provider's error in it and say whether the same call may succeed later
 * (`retryable`: rate limits, overload, dropped connections), so that the harness knows when to try again.
 */
export class ModelError extends XError {
  readonly modelId: string | undefined;
  readonly retryable: boolean;
  /** HTTP status, where there was one. */
  readonly status: number | undefined;
  /** What the provider asked to wait before the next attempt, in milliseconds. */
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
