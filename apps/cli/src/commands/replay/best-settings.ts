import type { Comparison, Strategy } from '@x/replay';
import { figuresOf } from '@x/replay/internal';
import { stringify } from 'yaml';
import { compactorOf } from './strategies.js';

/** Strategies for several triggers and targets, by the JSON of their settings. */
export const candidates: Readonly<Record<string, Strategy>> = Object.fromEntries(
  [0.6, 0.75, 0.85, 0.95].flatMap((share) =>
    [0.35, 0.5, 0.7].map((target) => {
      const settings = { trigger: { share }, target };
      return [JSON.stringify(settings), compactorOf(settings)] as const;
    }),
  ),
);

/** The name of the best settings' row. */
const BEST = 'best';

/** Settings count as equal if their share of kept names is at most this much below the best. The cheapest of them wins. */
const TOLERANCE = 0.01;

/** The settings that did best on some recordings, with their results. */
export interface BestSettings {
  /** Share of kept names; `undefined` if no name was mentioned again. */
  readonly kept: number | undefined;
  readonly costShare: number;
  /** The settings in the format of `compaction.yaml`. */
  readonly yaml: string;
}

/**
 * Replaces all {@link candidates} with the best one: the cheapest of those that keep the most names and never exceed the window. If no name
 * was mentioned again, the cheapest of all. `best` is `undefined` if nothing had to be reduced.
 */
export function withBest(compared: readonly Comparison[]): {
  readonly best: BestSettings | undefined;
  readonly comparisons: readonly Comparison[];
} {
  const rows = figuresOf(compared)
    .filter(({ strategy }) => Object.hasOwn(candidates, strategy))
    .filter(({ overflows, reductions }) => overflows === 0 && reductions > 0)
    .map((row) => ({
      ...row,
      kept: row.references > 0 ? row.retained / row.references : undefined,
      costShare: row.costShare ?? 1,
    }));
  const most = Math.max(...rows.map(({ kept = 0 }) => kept));
  const [best] = rows
    .filter(({ kept = 0 }) => kept >= most - TOLERANCE)
    .sort((left, right) => left.costShare - right.costShare);
  const comparisons = compared.map((comparison) => ({
    ...comparison,
    strategies: Object.fromEntries(
      Object.entries(comparison.strategies).flatMap(([name, result]) => {
        if (name === best?.strategy) return [[BEST, result]];
        return Object.hasOwn(candidates, name) ? [] : [[name, result]];
      }),
    ),
  }));
  return { best: best && { ...best, yaml: stringify(JSON.parse(best.strategy)) }, comparisons };
}
