import type { Comparison } from '@x/replay';
import { figuresOf } from '@x/replay/internal';
import { ArgumentError } from '../../command.js';

type Row = ReturnType<typeof figuresOf>[number];

/** The figures that a condition can test. Shares are percentages. */
const FIGURES: Readonly<Record<string, (row: Row) => number>> = {
  kept: ({ retained, references }) => (references === 0 ? 100 : (100 * retained) / references),
  cost: ({ costShare = 1 }) => 100 * costShare,
  largest: ({ largestRequest }) => largestRequest,
  over: ({ overflows }) => overflows,
  reduced: ({ reductions }) => reductions,
};

const CONDITION = /^(\w+)([<>])(\d+(?:\.\d+)?)$/;

/** Parses the conditions of `--fail-if`. Returns a function that lists the conditions that a strategy meets. */
export function readConditions(text: string): (strategy: string, all: readonly Comparison[]) => string[] {
  const conditions = text.split(/[\s,]+/).filter((word) => word !== '');
  const tests = conditions.map((condition) => {
    const [, name = '', sign, limit] = CONDITION.exec(condition) ?? [];
    const figure = Object.hasOwn(FIGURES, name) ? FIGURES[name] : undefined;
    if (figure === undefined) {
      throw new ArgumentError(
        `--fail-if cannot read "${condition}". Write a figure (${Object.keys(FIGURES).join(', ')}), < or >, and a number: --fail-if "kept<95 cost>80".`,
      );
    }
    return {
      condition,
      figure,
      isMet: (value: number) => (sign === '<' ? value < Number(limit) : value > Number(limit)),
    };
  });
  return (strategy, comparisons) => {
    const row = figuresOf(comparisons).find((each) => each.strategy === strategy);
    return tests.flatMap(({ condition, figure, isMet }) => {
      const value = row && figure(row);
      return value !== undefined && isMet(value)
        ? `${condition} (${strategy}: ${Number(value.toFixed(1))})`
        : [];
    });
  };
}
