import type { Alteration } from './reducers/alter-messages.js';
import { type Budget, type Reduction, unchanged, type View } from './reducer.js';

/** The share of the request that a rewrite must save when a reduction is due anyway, and when it is not. */
const MINIMUM_SHARE = { due: 0.05, early: 0.15 };

/**
 * Answers with an alteration if it pays: rewriting old messages voids the provider's cache from there on, so small
 * savings wait for company. A forced reduction takes what it can get.
 */
export function ifWorthwhile(
  view: View,
  budget: Budget,
  { messages, fates, savedTokens }: Alteration,
): Reduction {
  if (fates.length === 0) return unchanged(view, 'nothing to do');
  const share = budget.early ? MINIMUM_SHARE.early : MINIMUM_SHARE.due;
  if (!budget.forced && savedTokens < view.tokens * share) {
    return unchanged(view, `would save only ${Math.round(savedTokens)} tokens; waits until it saves more`);
  }
  return { messages, fates };
}
