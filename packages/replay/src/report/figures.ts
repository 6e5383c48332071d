import type { Comparison } from '../compare-strategies.js';
import type { ReplayResult } from '../replay-conversation.js';

/** One row of a report: a strategy over one or many conversations. */
export interface Figures {
  readonly strategy: string;
  readonly references: number;
  readonly retained: number;
  readonly reductions: number;
  readonly calls: number;
  readonly largestRequest: number;
  readonly overflows: number;
  /** Tokens of all requests together. */
  readonly sent: number;
  /** Of these, read from the provider's cache. */
  readonly cached: number;
  readonly cost: number;
  /** Of sending everything; nothing where that costs nothing. */
  readonly costShare: number | undefined;
}

/** Name of the row without any reduction. */
const EVERYTHING = 'everything';

/** One row a strategy, summed over all comparisons; the first row sends everything. */
export function figuresOf(comparisons: readonly Comparison[]): readonly Figures[] {
  const names = Object.keys(comparisons[0]?.strategies ?? {});
  const full = comparisons.reduce((sum, { everything }) => sum + everything.cost, 0);
  const row = (strategy: string, of: (comparison: Comparison) => ReplayResult | undefined): Figures => {
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
      sent: sum(({ calls }) => calls.reduce((total, { request }) => total + request, 0)),
      cached: sum(({ calls }) => calls.reduce((total, call) => total + call.cached, 0)),
      cost,
      costShare: full > 0 ? cost / full : undefined,
    };
  };
  return [
    row(EVERYTHING, ({ everything }) => everything),
    ...names.map((name) => row(name, ({ strategies }) => strategies[name])),
  ];
}
