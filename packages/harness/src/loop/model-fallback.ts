import type { Model } from '@x/core';
import type { ModelErrorKind } from '@x/core/messages';

/** A model that failed for good, and why. */
export interface ModelFailure {
  readonly error: unknown;
  readonly kind: ModelErrorKind;
  readonly model: Model;
  /** The model that would go on. */
  readonly next: Model;
}

/** The models that take over, in order, and when. */
export interface ModelFallback {
  readonly models: readonly Model[];
  readonly when: (failure: ModelFailure) => boolean | Promise<boolean>;
}

/** Errors after which another model may succeed: all but that of a request which any model would refuse. */
const WORTH_ANOTHER: ReadonlySet<ModelErrorKind> = new Set([
  'rate_limit',
  'quota',
  'auth',
  'unreadable',
  'transient',
  'other',
]);

/**
 * The default condition for a fallback: outages, rate limits, exhausted quotas, refused keys and items, once retries have failed;
 * also a request that is too large, when the next model has a larger window. Never a request that is refused for its content.
 */
export function isWorthAnother({ kind, model, next }: ModelFailure): boolean {
  if (kind !== 'overflow') return WORTH_ANOTHER.has(kind);
  return (next.contextWindow ?? 0) > (model.contextWindow ?? Number.POSITIVE_INFINITY);
}
