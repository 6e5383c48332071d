import type { ReplayedConversation } from './run-replay.js';

/** Results of one strategy over a group of conversations. */
export interface Figures {
  readonly probes: number;
  readonly retained: number;
  readonly crossing: number;
  readonly crossingRetained: number;
  /** Cost of all requests of the group and of summarization, relative to the cost without any reduction. */
  readonly cost: number;
  readonly calls: number;
  readonly reductions: number;
  readonly largestRequest: number;
  readonly overflows: number;
  readonly pairingViolations: number;
  readonly unaccounted: number;
  readonly largestSummary: number;
  readonly summarizerTokens: number;
  readonly milliseconds: number;
}

/** Sums up the results of a strategy. */
export function figuresOf(conversations: readonly ReplayedConversation[], strategy: string): Figures {
  const results = conversations.flatMap(({ byStrategy }) => byStrategy[strategy] ?? []);
  const probes = results.flatMap((result) => result.references);
  const crossing = probes.filter((probe) => probe.crossing);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const most = (values: readonly number[]) => values.reduce((left, right) => Math.max(left, right), 0);
  return {
    probes: probes.length,
    retained: probes.filter((probe) => probe.retained).length,
    crossing: crossing.length,
    crossingRetained: crossing.filter((probe) => probe.retained).length,
    cost: sum(results.map((result) => result.cost)) / sum(conversations.map(({ full }) => full.cost)),
    calls: sum(results.map((result) => result.calls.length)),
    reductions: sum(results.map((result) => result.reductions)),
    largestRequest: most(results.map((result) => result.largestRequest)),
    overflows: sum(results.map((result) => result.overflows)),
    pairingViolations: sum(results.map((result) => result.pairingViolations)),
    unaccounted: sum(results.map((result) => result.unaccounted)),
    largestSummary: most(results.map((result) => result.largestSummary)),
    summarizerTokens: sum(results.map((result) => result.summarizerTokens)),
    milliseconds: sum(results.map((result) => result.milliseconds)),
  };
}
