import { createCompactor } from '@x/compaction';
import { type Comparison, compareStrategies, figuresOf, withCompactor } from '@x/replay';
import { stringify } from 'yaml';

/** Settings that are tried: when a reduction is due, and how much it leaves. */
const CANDIDATES = [0.6, 0.75, 0.85, 0.95].flatMap((share) =>
  [0.35, 0.5, 0.7].map((target) => ({ trigger: { share }, target })),
);

/** Names kept that are worth no more cost: settings this near to the best count as equal to it. */
const TOLERANCE = 0.01;

/** The settings that did best on some recordings, with what they did. */
export interface BestSettings {
  readonly kept: number;
  readonly costShare: number;
  /** For `compaction.yaml`. */
  readonly yaml: string;
}

/**
 * Tries settings on recordings. The best are the cheapest of those that keep the most names, and send nothing that is
 * larger than the window. `undefined` where nothing had to be reduced.
 */
export async function bestSettings(
  recordings: readonly Comparison[],
  options: Parameters<typeof compareStrategies>[2],
): Promise<BestSettings | undefined> {
  const strategies = Object.fromEntries(
    CANDIDATES.map((settings) => [
      JSON.stringify(settings),
      withCompactor(({ window, counter }) =>
        createCompactor({ ...settings, model: null, contextWindow: window, counter }),
      ),
    ]),
  );
  const tried: Comparison[] = [];
  for (const { conversation, prices } of recordings) {
    tried.push(await compareStrategies(conversation, strategies, { ...options, prices }));
  }
  const rows = figuresOf(tried)
    .slice(1)
    .filter(({ overflows, reductions, references }) => overflows === 0 && reductions > 0 && references > 0)
    .map(({ strategy, retained, references, costShare = 1 }) => ({
      strategy,
      kept: retained / references,
      costShare,
    }));
  const most = Math.max(...rows.map(({ kept }) => kept));
  const [best] = rows
    .filter(({ kept }) => kept >= most - TOLERANCE)
    .sort((left, right) => left.costShare - right.costShare);
  return best && { ...best, yaml: stringify(JSON.parse(best.strategy)) };
}
