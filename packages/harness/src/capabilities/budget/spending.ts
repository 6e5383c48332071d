import type { AgentState, Usage } from '@x/core';
import type { Price } from './budget-config.js';

const EXTENSION = 'budget';
const MILLION = 1_000_000;

/** What was used up. */
export interface Spending {
  /** Input and output together. */
  readonly tokens: number;
  /** In the currency of the prices; 0 for models that have none. */
  readonly cost: number;
}

export const NOTHING: Spending = { tokens: 0, cost: 0 };

export function plus(left: Spending, right: Spending): Spending {
  return { tokens: left.tokens + right.tokens, cost: left.cost + right.cost };
}

/** What a session has used up so far, over all its calls and processes: with the `budget` capability, else nothing. */
export function spendingOf(state: AgentState): Spending {
  const { counters } = state.extensions[EXTENSION] ?? {};
  const { tokens, cost } = (counters ?? {}) as Readonly<Record<string, unknown>>;
  return {
    tokens: typeof tokens === 'number' ? tokens : 0,
    cost: typeof cost === 'number' ? cost : 0,
  };
}

/** Adds to what the session has used up. */
export function spend(state: AgentState, spent: Spending): void {
  // Counters: of two writers whose turns are merged, neither's spending is lost.
  state.extensions[EXTENSION] = { counters: { ...plus(spendingOf(state), spent) } };
}

/** What one model call used up. `inputTokens` includes what was read from and written to the cache. */
export function spendingFor(usage: Usage, price: Price | undefined): Spending {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  const tokens = inputTokens + outputTokens;
  if (price === undefined) return { tokens, cost: 0 };
  const plain = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens);
  const cost =
    plain * price.input +
    cachedInputTokens * (price.cachedInput ?? price.input) +
    cacheWriteTokens * (price.cacheWrite ?? price.input) +
    outputTokens * price.output;
  return { tokens, cost: cost / MILLION };
}
