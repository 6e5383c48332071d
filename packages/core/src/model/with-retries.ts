import { ModelError } from '../errors/model-error.js';
import { systemClock } from '../lib/clock.js';
import { notify } from '../lib/notify.js';

const MAX_DELAY_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 300_000;

/** How often and how fast a model call is retried. */
export interface RetryOptions {
  readonly maxRetries: number;
  /** Longest pause before the first retry, in milliseconds. It doubles with each retry, up to 30 seconds. Jitter shortens it by up to half. */
  readonly retryDelayMs: number;
  /**
   * Longest pause in milliseconds that a provider may request. If it requests more, the call fails at once, so that a fallback model can
   * take over. Default 300 000.
   */
  readonly retryAfterMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause, with the number of the retry (from 1) and the pause in milliseconds. */
  readonly onRetry?: ((attempt: number, delayMs: number, error: ModelError) => void) | undefined;
}

/**
 * Calls `ask`, and retries it while it throws a `ModelError` that is `retryable`. The pauses grow exponentially with jitter, unless the
 * provider requested a pause.
 *
 * @example
 * ```ts
 * const answer = await withRetries(() => model.generate(request), { maxRetries: 3, retryDelayMs: 500 });
 * ```
 * @throws The last error of `ask`, and the signal's reason if it is aborted.
 */
export async function withRetries<Answer>(
  ask: () => Promise<Answer>,
  { maxRetries, retryDelayMs, retryAfterMs = LONGEST_RETRY_AFTER_MS, signal, onRetry }: RetryOptions,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      signal?.throwIfAborted();
      if (!ModelError.isInstance(error) || !error.retryable) throw error;
      if (attempt > Math.min(maxRetries, error.maxRetries ?? maxRetries)) throw error;
      // An earlier retry would be rejected, and would count against the rate limit.
      if ((error.retryAfterMs ?? 0) > retryAfterMs) throw error;
      const backoff = Math.min(MAX_DELAY_MS, retryDelayMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2));
      const delayMs = Math.round(error.retryAfterMs ?? backoff);
      notify('onRetry', onRetry && (() => onRetry(attempt, delayMs, error)), error);
      await systemClock.sleep(delayMs, { signal });
    }
  }
}
