import { type Message, textOf, toolUsesOf } from '@x/core';
import { headOf, jsonText, type Work } from '@x/core/internal';
import { stubPatterns } from '../conversation/stub-texts.js';
import { cutMiddle } from '../conversation/text.js';
import { termsOf } from '../record/terms.js';

/** Returns how much the conversation used a term after message `at`. Rare terms weigh more. */
export type UseAfter = (term: number, at: number) => number;

/** Share of a cut text for its beginning, and for its end. The rest is for lines that the conversation used later. */
const EDGE_SHARE = 0.25;
/** Longest text, in UTF-16 units, that keeps only its head when it is cut. */
const SHORT_CUT = 12;
/** Estimated UTF-16 units of a gap mark. */
const MARK = 30;
/** Shortest text, in UTF-16 units, that has room for lines between its ends. */
const LEAST_BY_USE = 8 * MARK;
/** Number of lines before and after a line whose uses count for the line. */
const AROUND = 4;

/** Counts in which messages of people and of the model each term occurs, and where it occurs last. */
export function* usesIn(messages: readonly Message[]): Work<UseAfter> {
  const uses = new Map<number, { times: number; last: number }>();
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') continue;
    const passed = toolUsesOf(message).map(({ input }) => jsonText(input));
    for (const term of termsOf([textOf(message), ...passed].join('\n'))) {
      const use = uses.get(term) ?? { times: 0, last: at };
      uses.set(term, { times: use.times + 1, last: at });
    }
    yield;
  }
  return (term, at) => {
    const { times, last } = uses.get(term) ?? { times: 1, last: -1 };
    return last > at ? Math.log(1 + messages.length / times) : 0;
  };
}

/**
 * Cuts a text to about `length` UTF-16 units: its beginning, its end, and between them the lines that were used most for their length.
 * Marks each gap. If no line was used, keeps more of both ends. A line that exceeds an end is cut like several lines.
 */
export function cutByUse(text: string, length: number, useOf: (term: number) => number): string {
  if (text.length <= length) return text;
  if (length <= SHORT_CUT) return headOf(text, length);
  const bothEnds = () => {
    const cut = cutMiddle(text, length, gapMark(text), { tail: 0.5, lines: true });
    // The mark may be longer than what it replaces.
    return cut.length < text.length ? cut : text;
  };
  if (length < LEAST_BY_USE) return bothEnds();
  const edge = length * EDGE_SHARE;
  // Each line ends with its line break. The pieces of a long line have none, except the last.
  const lines = text
    .split(/(?<=\n)/)
    .flatMap((line) => (line.length > edge ? pieces(line, Math.floor(edge / 2) - 1) : line));
  const [start, end] = [wholeLines(lines, edge), lines.length - wholeLines(lines.toReversed(), edge)];
  const uses = usesOf(lines, useOf);
  const used = lines
    .map((line, at) => ({ at, worth: worthOf(line, usesAround(uses, at)) }))
    .filter(({ at, worth }) => at >= start && at < end && worth > 0)
    .toSorted((one, other) => other.worth - one.worth);
  let room = length - 2 * edge;
  const kept = new Set<number>();
  for (const { at } of used) {
    // A line next to a kept line needs no separate mark.
    const isNext = kept.has(at - 1) || kept.has(at + 1);
    const cost = (lines[at] as string).length + (isNext ? 0 : MARK);
    if (cost > room) continue;
    room -= cost;
    kept.add(at);
  }
  if (kept.size === 0) return bothEnds();
  let [shown, gap] = ['', ''];
  for (const [at, line] of lines.entries()) {
    if (at < start || at >= end || kept.has(at)) {
      // Marks interrupt the text, so a short gap is no gain.
      const isMarked = gap.length > 2 * MARK;
      shown += isMarked ? `[… ${gap.length} characters left out …]${gap.endsWith('\n') ? '\n' : ''}` : gap;
      shown += line;
      gap = '';
    } else gap += line;
  }
  return shown;
}

/** Returns the uses of each line. A term counts less the more lines have it, because it does not distinguish them. */
function usesOf(lines: readonly string[], useOf: (term: number) => number): readonly number[] {
  const terms = lines.map(termsOf);
  const weights = new Map<number, number>();
  for (const term of terms.flat()) weights.set(term, (weights.get(term) ?? 0) + 1);
  for (const [term, count] of weights) weights.set(term, useOf(term) / Math.sqrt(count));
  return terms.map((own) => own.reduce((sum, term) => sum + (weights.get(term) ?? 0), 0));
}

/** Adds up the uses around a line, so that lines are kept in readable blocks. Each step away halves what a line adds. */
function usesAround(uses: readonly number[], at: number): number {
  let sum = 0;
  for (let away = -AROUND; away <= AROUND; away++) sum += (uses[at + away] ?? 0) / 2 ** Math.abs(away);
  return sum;
}

/** Rates a line by its uses and length. Always keeps the note of an earlier cut: a new mark would count the omitted part as one line. */
function worthOf(line: string, uses: number): number {
  const isNote = line.startsWith('[') && stubPatterns.some((pattern) => pattern.test(line));
  return isNote ? Number.POSITIVE_INFINITY : uses / (line.length + MARK);
}

/** Splits a long line into pieces of at most `length` UTF-16 units, after spaces or commas if it has any. */
function pieces(line: string, length: number): readonly string[] {
  const found: string[] = [];
  for (let at = 0; at < line.length; ) {
    const piece = headOf(line.slice(at, at + length + 1), length);
    const isLast = at + piece.length === line.length;
    const end = Math.max(piece.lastIndexOf(' '), piece.lastIndexOf(',')) + 1;
    found.push(end > 0 && !isLast ? piece.slice(0, end) : piece);
    at += found.at(-1)?.length ?? 0;
  }
  return found;
}

/** Counts the lines at the beginning that have at most `most` UTF-16 units together. */
function wholeLines(lines: readonly string[], most: number): number {
  let length = 0;
  const first = lines.findIndex((line) => {
    length += line.length;
    return length > most;
  });
  return first === -1 ? lines.length : first;
}

/** The mark of the only gap in a text. */
function gapMark(text: string): (left: number, from: number) => string {
  return (left, from) =>
    `\n[… ${text.slice(from, from + left).split('\n').length} lines, ${left} characters left out …]\n`;
}
