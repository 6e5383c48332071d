import type { Usage } from '@x/core';
import type { Pricing } from '../../../src/server/backend.js';

/** What tokens cost, in the currency of the prices. */
export function costOf(usage: Usage, pricing: Pricing): number {
  const cached = usage.cachedInputTokens ?? 0;
  return (
    ((usage.inputTokens - cached) * pricing.inputPerMillion +
      cached * pricing.cachedInputPerMillion +
      usage.outputTokens * pricing.outputPerMillion) /
    1_000_000
  );
}
