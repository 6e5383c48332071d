import { type Message, textOf, toolResultsOf } from '@x/core';
import { headOf, type Work } from '@x/core/internal';
import { mapRuns } from '../conversation/lines.js';

/** Lines count as repeated if at least `LEAST_RESULTS` results have them, and if they are long enough together. */
const LEAST_RESULTS = 3;
const LEAST_LENGTH = 120;
/** UTF-16 units of a repeated passage that its mark quotes. */
const QUOTED = 40;
/** Longest result, in UTF-16 units, whose lines are compared. A longer one is cut anyway. */
const LONGEST = 100_000;

/**
 * Returns a function that removes lines that several results repeat, such as a reminder. Call it with the texts of the conversation's
 * results in order. The first text keeps the lines, with a note of how many results have them. In later texts a mark replaces them.
 */
export function* toldOnce(messages: readonly Message[]): Work<(text: string) => string> {
  const results = new Map<string, number>();
  for (const block of messages.flatMap(toolResultsOf)) {
    const text = textOf([block]);
    if (text.length > LONGEST) continue;
    for (const line of new Set(text.split('\n'))) results.set(line, (results.get(line) ?? 0) + 1);
    yield;
  }
  const told = new Set<string>();
  const shown = (lines: readonly string[]): readonly string[] => {
    const passage = lines.join('\n');
    if (passage.trim().length < LEAST_LENGTH) return lines;
    if (told.has(passage))
      return [
        `[… as before, ${lines.length} lines: ${headOf(passage.trim().replaceAll('\n', ' '), QUOTED)} …]`,
      ];
    told.add(passage);
    const count = lines.reduce((least, line) => Math.min(least, results.get(line) ?? 0), Infinity);
    return [...lines, `[… ${count} results have the ${lines.length} lines above …]`];
  };
  const isRepeated = (line: string) => (results.get(line) ?? 0) >= LEAST_RESULTS;
  return (text) => (text.length > LONGEST ? text : mapRuns(text, isRepeated, shown));
}
