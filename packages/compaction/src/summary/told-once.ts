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

/** Cuts a text. */
type CutText = (text: string) => string;

/**
 * Returns a function that cuts a text, and replaces lines that several results repeat, such as a reminder, by a mark if an earlier text
 * still has them after its cut. Call it with the texts of the conversation's results in order.
 */
export function* toldOnce(messages: readonly Message[]): Work<(text: string, cut: CutText) => string> {
  const results = new Map<string, number>();
  for (const block of messages.flatMap(toolResultsOf)) {
    const text = textOf([block]);
    if (text.length > LONGEST) continue;
    for (const line of new Set(text.split('\n'))) results.set(line, (results.get(line) ?? 0) + 1);
    yield;
  }
  const told = new Set<string>();
  const isRepeated = (line: string) => (results.get(line) ?? 0) >= LEAST_RESULTS;
  return (text, cut) => {
    if (text.length > LONGEST) return cut(text);
    const repeated: string[] = [];
    const marked = mapRuns(text, isRepeated, (lines) => {
      const passage = lines.join('\n');
      if (passage.trim().length < LEAST_LENGTH) return lines;
      if (told.has(passage)) return [markOf(passage)];
      repeated.push(passage);
      return lines;
    });
    const shown = cut(marked);
    for (const passage of repeated) if (shown.includes(passage)) told.add(passage);
    return shown;
  };
}

function markOf(passage: string): string {
  return `[… as before: ${headOf(passage.trim().replaceAll('\n', ' '), QUOTED)} …]`;
}
