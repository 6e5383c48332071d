import type { Model } from '@x/core';
import type { ModelErrorKind } from '@x/core/messages';

/** A permanent failure of a model. */
export interface ModelFailure {
  readonly error: unknown;
  readonly kind: ModelErrorKind;
  readonly model: Model;
  /** The model that would take over. */
  readonly next: Model;
}

/** The fallback models, in order, and the condition for using them. */
export interface ModelFallback {
  readonly models: readonly Model[];
  readonly when: (failure: ModelFailure) => boolean | Promise<boolean>;
}

/** Errors after which another model may succeed: all except errors of requests that any model would reject. */
const WORTH_ANOTHER: ReadonlySet<ModelErrorKind> = new Set([
  'rate_limit',
  'quota',
  'auth',
  'unreadable',
  'transient',
  'other',
]);

/**
 * The default condition for a fallback: outages, rate limits, exhausted quotas, rejected keys and items, once retries have failed. Also a
 * request that is too large, if the next model has a larger window. Never a request that is rejected for its content.
 */
export function isWorthAnother({ kind, model, next }: ModelFailure): boolean {
  if (kind !== 'overflow') return WORTH_ANOTHER.has(kind);
  return (next.contextWindow ?? 0) > (model.contextWindow ?? Number.POSITIVE_INFINITY);
}
