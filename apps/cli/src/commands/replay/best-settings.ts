import { createCompactor } from '@x/compaction';
import { type Comparison, type Strategy, withCompactor } from '@x/replay';
import { figuresOf } from '@x/replay/internal';
import { stringify } from 'yaml';

/** Settings that are tried, by their JSON: when a reduction is due, and how much it leaves. */
export const candidates: Readonly<Record<string, Strategy>> = Object.fromEntries(
  [0.6, 0.75, 0.85, 0.95].flatMap((share) =>
    [0.35, 0.5, 0.7].map((target) => {
      const settings = { trigger: { share }, target };
      const strategy = withCompactor(({ window, counter }) =>
        createCompactor({ ...settings, model: null, contextWindow: window, counter }),
      );
      return [JSON.stringify(settings), strategy] as const;
    }),
  ),
);

/** The row of the settings that did best. */
const BEST = 'best';

/** Names kept that are worth no more cost: settings this near to the best count as equal to it. */
const TOLERANCE = 0.01;

/** The settings that did best on some recordings, with what they did. */
export interface BestSettings {
  /** `undefined` where no name came up again. */
  readonly kept: number | undefined;
  readonly costShare: number;
  /** For `compaction.yaml`. */
  readonly yaml: string;
}

/**
 * Puts the best of {@link candidates} in the place of all: the cheapest of those that keep the most names, and send
 * nothing that is larger than the window; the cheapest of all where no name came up again. `undefined` where nothing had
 * to be reduced.
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
