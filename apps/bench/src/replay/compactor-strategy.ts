import { type CompactionConfig, createCompactor } from '@x/compaction';
import type { Strategy } from './strategy.js';

/** Our compactor without a model: due at 85 % of the window and by nothing else, unless the options say otherwise. */
export function compactorStrategy(options: CompactionConfig = {}): Strategy {
  return ({ window, counter, system }) => {
    const compactor = createCompactor({
      model: null,
      contextWindow: window,
      counter,
      budgetPercent: 0.85,
      triggerMessages: 0,
      triggerTokens: 0,
      ...options,
    });
    return async (messages) => {
      const outcome = await compactor.compact(messages, { reason: 'proactive_budget', system });
      return outcome.status === 'applied' ? outcome : undefined;
    };
  };
}
