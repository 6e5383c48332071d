import type { Comparison } from '../compare-strategies.js';
import { figuresOf } from './figures.js';
import { formatCost, formatNumber, formatShare } from './format.js';
import { textTable } from './text-table.js';

/** Comparisons as text, within 80 columns: one row a strategy, summed over all conversations. */
export function replayTable(
  comparisons: readonly Comparison[],
  options: { readonly currency?: string } = {},
): string {
  return textTable([
    ['strategy', 'kept', 'of', 'cost', 'of all', 'cached', 'largest', 'over', 'reduced'],
    ...figuresOf(comparisons).map((row) => [
      row.strategy,
      row.references === 0 ? '–' : formatShare(row.retained / row.references),
      String(row.references),
      formatCost(row.cost, options.currency),
      row.costShare === undefined ? '–' : formatShare(row.costShare),
      row.sent === 0 ? '–' : formatShare(row.cached / row.sent),
      formatNumber(row.largestRequest),
      String(row.overflows),
      String(row.reductions),
    ]),
  ]).join('\n');
}
