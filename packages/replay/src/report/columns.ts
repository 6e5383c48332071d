import type { Figures } from './figures.js';
import { formatCost, formatNumber, formatShare } from './format.js';

type Cell = (row: Figures, currency: string | undefined) => string;

/** The columns of every table of figures, by heading. */
export const COLUMNS: Readonly<Record<string, Cell>> = {
  strategy: ({ strategy }) => strategy,
  kept: ({ references, retained }) => (references === 0 ? '–' : formatShare(retained / references)),
  of: ({ references }) => String(references),
  cost: ({ cost }, currency) => formatCost(cost, currency),
  'of all': ({ costShare }) => (costShare === undefined ? '–' : formatShare(costShare)),
  cached: ({ sent, cached }) => (sent === 0 ? '–' : formatShare(cached / sent)),
  largest: ({ largestRequest }) => formatNumber(largestRequest),
  over: ({ overflows }) => String(overflows),
  reduced: ({ reductions }) => String(reductions),
};
