import type { Comparison } from '../compare-strategies.js';
import type { ReplayResult } from '../replay-conversation.js';

/** One row of a report: a strategy over one or many conversations. */
export type Figures = ReturnType<typeof figuresOf>[number];

/** Name of the row without any reduction. */
const EVERYTHING = 'everything';

/** Returns one row for each strategy, summed over all comparisons. The first row sends everything. */
export function figuresOf(comparisons: readonly Comparison[]) {
  const names = Object.keys(comparisons[0]?.strategies ?? {});
  const full = comparisons.reduce((sum, { everything }) => sum + everything.cost, 0);
  const row = (strategy: string, of: (comparison: Comparison) => ReplayResult | undefined) => {
    const results = comparisons.flatMap((comparison) => of(comparison) ?? []);
    const sum = (value: (result: ReplayResult) => number) =>
      results.reduce((total, result) => total + value(result), 0);
    const cost = sum((result) => result.cost);
    return {
      strategy,
      references: sum(({ references }) => references.length),
      retained: sum(({ references }) => references.filter(({ retained }) => retained).length),
      reductions: sum(({ reductions }) => reductions),
      calls: sum(({ calls }) => calls.length),
      largestRequest: Math.max(0, ...results.map(({ largestRequest }) => largestRequest)),
      overflows: sum(({ overflows }) => overflows),
      /** Tokens of all requests together. */
      sent: sum(({ calls }) => calls.reduce((total, { request }) => total + request, 0)),
      /** Tokens read from the provider's cache. */
      cached: sum(({ calls }) => calls.reduce((total, call) => total + call.cached, 0)),
      cost,
      /** Cost relative to sending everything; `undefined` if that costs nothing. */
      costShare: full > 0 ? cost / full : undefined,
    };
  };
  return [
    row(EVERYTHING, ({ everything }) => everything),
    ...names.map((name) => row(name, ({ strategies }) => strategies[name])),
  ];
}
