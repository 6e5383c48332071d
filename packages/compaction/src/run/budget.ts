import type { CompactionReason } from '@x/core';
import type { ResolvedCompactionConfig } from '../config/compaction-config.js';
import type { ReductionTarget, View } from '../reducer.js';

/** Assumed when nobody says how large the model's window is. */
export const FALLBACK_CONTEXT_WINDOW = 128_000;

/** The share of a window that is left for the model's answer. */
const ANSWER_SHARE = 0.1;

/** Computes what a request must not exceed: the window less the room for the answer. */
export function mostTokensOf(contextWindow: number): number {
  return Math.floor(contextWindow * (1 - ANSWER_SHARE));
}

type Triggers = Pick<
  ResolvedCompactionConfig,
  'triggerMessages' | 'triggerTokens' | 'budgetPercent' | 'maxTokens' | 'headroom' | 'summaryHeadroom'
>;

/** Tokens from which on a reduction is due; `Infinity` when every token trigger is off. */
function tokenTrigger(config: Triggers, contextWindow: number): number {
  const { triggerTokens, budgetPercent, maxTokens } = config;
  const triggers: number[] = [];
  if (triggerTokens > 0) triggers.push(triggerTokens);
  if (maxTokens > 0) triggers.push(maxTokens);
  else if (budgetPercent > 0) triggers.push(Math.floor(contextWindow * budgetPercent));
  return Math.min(...triggers);
}

/** Whether a proactive reduction is due. */
export function isDue(config: Triggers, contextWindow: number, tokens: number, messages: number): boolean {
  return (
    tokens >= tokenTrigger(config, contextWindow) ||
    (config.triggerMessages > 0 && messages >= config.triggerMessages)
  );
}

/** What a reduction for this reason aims for. */
export function budgetFor(
  config: Triggers,
  reason: CompactionReason,
  contextWindow: number,
  tokensBefore: number,
): ReductionTarget {
  let limit = Math.min(tokenTrigger(config, contextWindow), contextWindow);
  let most = mostTokensOf(contextWindow);
  // Too large for the model, yet not by our count: the count is wrong by an unknown factor, and there is one retry.
  if (reason === 'request_too_large' && tokensBefore <= contextWindow) {
    limit = Math.min(limit, Math.floor(tokensBefore / 2));
    most = Math.min(most, limit);
  }
  const free = 1 - config.headroom;
  return {
    reason,
    contextWindow,
    limitTokens: limit,
    mostTokens: most,
    targetTokens: Math.floor(limit * free),
    condensedTokens: Math.floor(limit * Math.min(free, 1 - config.summaryHeadroom)),
    targetMessages:
      config.triggerMessages > 0 ? Math.floor(config.triggerMessages * free) : Number.POSITIVE_INFINITY,
    forced: reason !== 'proactive_budget',
    early: false,
  };
}

/**
 * Whether a view meets its budget, so that the cascade can stop. A reduction asked for by hand goes on until the older
 * part was condensed; one after an overflow does not care about the number of messages.
 */
export function fits(view: View, budget: ReductionTarget, condensed: boolean): boolean {
  if (budget.early || view.tokens > budget.targetTokens) return false;
  if (condensed || budget.reason === 'request_too_large') return true;
  return budget.reason === 'proactive_budget' && view.messages.length <= budget.targetMessages;
}
