import type { Comparison } from '../compare-strategies.js';
import { COLUMNS } from './columns.js';
import { figuresOf } from './figures.js';
import { textTable } from './text-table.js';

/** Columns that a narrow table omits, in this order. */
const SPARE = ['reduced', 'largest', 'cached', 'of', 'cost', 'over', 'of all'];

/**
 * Renders comparisons as text: one row for each strategy, summed over all conversations.
 *
 * @param options.width Columns of the terminal. Columns that do not fit are left out, as a last line says. Default: all are shown, which
 * takes about 80.
 */
export function replayTable(
  comparisons: readonly Comparison[],
  options: { readonly currency?: string; readonly width?: number } = {},
): string {
  const { currency, width = Number.POSITIVE_INFINITY } = options;
  const figures = figuresOf(comparisons);
  const table = (left: number): readonly string[] => {
    const out = SPARE.slice(0, left);
    const shown = Object.entries(COLUMNS).filter(([heading]) => !out.includes(heading));
    const lines = textTable([
      shown.map(([heading]) => heading),
      ...figures.map((row) => shown.map(([, cell]) => cell(row, currency))),
    ]);
    if (left < SPARE.length && lines.some((line) => line.length > width)) return table(left + 1);
    return left === 0 ? lines : [...lines, `Left out of a narrow window: ${out.join(', ')}`];
  };
  return table(0).join('\n');
}
