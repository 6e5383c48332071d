import { ModelError } from '../errors/model-error.js';
import { systemClock } from '../lib/clock.js';
import { notify } from '../lib/notify.js';

const MAX_DELAY_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 300_000;

/** How often and how fast a model is asked again. */
export interface RetryOptions {
  readonly maxRetries: number;
  /** Milliseconds before the first retry; each further one waits twice as long, 30 seconds at most. */
  readonly retryDelayMs: number;
  /**
   * Longest pause in milliseconds that a provider may ask for. If it asks for more, the call fails at once, so that another model
   * may take over. Default 300 000.
   */
  readonly retryAfterMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause. */
  readonly onRetry?: ((attempt: number, delayMs: number, error: ModelError) => void) | undefined;
}

/**
 * Calls `ask`, and calls it again after a pause while it throws a `ModelError` that is `retryable`: exponential backoff with
 * jitter, or the pause that the provider asked for.
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
      // Asked sooner, the provider would refuse, and count it.
      if ((error.retryAfterMs ?? 0) > retryAfterMs) throw error;
      const backoff = Math.min(MAX_DELAY_MS, retryDelayMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2));
      const delayMs = Math.round(error.retryAfterMs ?? backoff);
      notify('onRetry', onRetry && (() => onRetry(attempt, delayMs, error)), error);
      await systemClock.sleep(delayMs, { signal });
    }
  }
}
