import type { Comparison } from '../compare-strategies.js';
import { COLUMNS } from './columns.js';
import { figuresOf } from './figures.js';

/** Columns that a narrow table omits, in this order. */
const OPTIONAL = ['reduced', 'largest', 'cached', 'of', 'cost', 'over', 'of all'];

/**
 * Renders comparisons as text: one row for each strategy, summed over all conversations.
 *
 * @param options.width Width of the terminal in characters. Columns that do not fit are omitted, and a last line lists them. Default: all
 * columns, about 80 characters.
 */
export function replayTable(
  comparisons: readonly Comparison[],
  options: { readonly currency?: string | undefined; readonly width?: number | undefined } = {},
): string {
  const { currency, width = Number.POSITIVE_INFINITY } = options;
  const figures = figuresOf(comparisons);
  const table = (omitted: number): readonly string[] => {
    const hidden = OPTIONAL.slice(0, omitted);
    const shown = Object.entries(COLUMNS).filter(([heading]) => !hidden.includes(heading));
    const lines = textTable([
      shown.map(([heading]) => heading),
      ...figures.map((row) => shown.map(([, cell]) => cell(row, currency))),
    ]);
    if (omitted < OPTIONAL.length && lines.some((line) => line.length > width)) return table(omitted + 1);
    return omitted === 0 ? lines : [...lines, `Not shown in a narrow terminal: ${hidden.join(', ')}`];
  };
  return table(0).join('\n');
}

/** Returns the lines of a table. Aligns the first column left, the others right. */
function textTable(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}
