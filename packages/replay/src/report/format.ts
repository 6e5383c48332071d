/** Formats a share as percent. */
export function formatShare(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** Formats 12345 as 12.3k. */
export function formatNumber(value: number): string {
  if (value < 1_000) return String(Math.round(value));
  return value < 1_000_000 ? `${(value / 1_000).toFixed(1)}k` : `${(value / 1_000_000).toFixed(1)}M`;
}

/** Formats a cost. Without a currency, the cost is in millions of uncached input tokens. */
export function formatCost(cost: number, currency?: string): string {
  return currency === undefined ? `${cost.toFixed(3)}M` : `${currency} ${cost.toFixed(2)}`;
}
