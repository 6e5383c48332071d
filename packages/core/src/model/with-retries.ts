import { setTimeout as sleep } from 'node:timers/promises';
import { ModelError } from '../errors/model-error.js';

const MAX_DELAY_MS = 30_000;

/** How often and how fast a model is asked again. */
export interface RetryOptions {
  readonly maxRetries: number;
  /** Milliseconds before the first retry; each further one waits twice as long, 30 seconds at most. */
  readonly retryDelayMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Told before each pause. */
  readonly onRetry?: ((attempt: number, delayMs: number, error: ModelError) => void) | undefined;
}

/**
 * Asks a model, again after a pause when it failed for a passing reason (`ModelError.retryable`): exponential backoff with
 * jitter, or what the provider asked for.
 *
 * @throws what `ask` throws last, and the signal's reason when aborted.
 */
export async function withRetries<Answer>(
  ask: () => Promise<Answer>,
  { maxRetries, retryDelayMs, signal, onRetry }: RetryOptions,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      signal?.throwIfAborted();
      if (!ModelError.isInstance(error) || !error.retryable || attempt > maxRetries) throw error;
      const backoff = retryDelayMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
      const delayMs = Math.round(Math.min(MAX_DELAY_MS, error.retryAfterMs ?? backoff));
      onRetry?.(attempt, delayMs, error);
      await sleep(delayMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
    }
  }
}
